module weir/test/merkle

go 1.23.0

require (
	github.com/transparency-dev/merkle v0.0.2
	golang.org/x/mod v0.21.0
)
