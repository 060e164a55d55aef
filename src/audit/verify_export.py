#!/usr/bin/env python3
"""Verifies an export of Weir's audit log (`weir audit export`) without Weir. `weir audit verifier` prints this program.

Written from src/audit/format.md and RFC 6962, 8785, 8032 and c2sp.org/signed-note alone.

    python3 verify_export.py EXPORT --pub KEYS [--against CHECKPOINTS]...

--pub      verifier keys that are known to be the log's (`weir audit key`), or a file of them, a line each
--against  signed checkpoints that were kept outside (a file of AUDIT_SINKS, or an earlier export)

Exit status: 0 whole, 1 tampered with, 2 nothing is wrong and something cannot be excluded, 3 cannot be read or is not
an export, 64 the command line is wrong.
"""
import argparse, base64, functools, hashlib, json, os, re, sys, time
from datetime import datetime, timedelta, timezone
from decimal import Decimal

CHAINED = {'organization', 'project', 'projectKey', 'adminKey', 'policy', 'oauthClient', 'oauthToken', 'idempotency'}
KEPT_DAYS = {'credentialUse': 400, 'denial': 400, 'usage': 400, 'policyDecision': 30}
STUBBED = {'replay', 'oauthToken', *KEPT_DAYS}


class Bad(Exception):
    """What is not as the format says: a class of finding, and words."""


class NotAnExport(Exception):
    """Of a file that is none nothing can be said."""


def sha256(*parts):
    return hashlib.sha256(b''.join(parts)).digest()


def unbase64(text, length=None):
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raise ValueError('not base64')
    if base64.b64encode(raw).decode() != text or length not in (None, len(raw)):
        raise ValueError('not base64 of the right length')
    return raw


# RFC 8785: one text for one value.

def number(value):
    """A double as ECMAScript writes it."""
    if value == 0:
        return '0'
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text, point = ''.join(map(str, digits)), len(digits) + exponent
    if 0 < point <= 21:
        text = text + '0' * exponent if exponent >= 0 else text[:point] + '.' + text[point:]
    elif -6 < point <= 0:
        text = '0.' + '0' * -point + text
    else:
        text = text[0] + ('.' + text[1:] if text[1:] else '') + f'e{point - 1:+d}'
    return '-' * sign + text


def canonical(value):
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode('utf-16-be'))
        return '{' + ','.join(canonical(name) + ':' + canonical(value[name]) for name in names) + '}'
    if isinstance(value, list):
        return '[' + ','.join(map(canonical, value)) + ']'
    return number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def unique(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError('a name occurs twice in an object')
    return dict(pairs)


def refuse(constant):
    raise ValueError(f'{constant} is not JSON')


def parse(text):
    """Numbers are doubles, as RFC 8785 has them."""
    try:
        return json.loads(text, object_pairs_hook=unique, parse_int=float, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise ValueError(f'not JSON ({error})')
    except RecursionError:
        raise ValueError('nested too deeply')


# RFC 8032: Ed25519. A point is (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z.

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def combine(s, p, k, q):
    """s·p + k·q"""
    result, choices = (0, 1, 1, 0), (None, p, q, add(p, q))
    for bit in reversed(range(253)):
        result, choice = add(result, result), choices[s >> bit & 1 | (k >> bit & 1) << 1]
        result = add(result, choice) if choice else result
    return result


def decompress(raw):
    y = int.from_bytes(raw, 'little')
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        raise ValueError('not a point')
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square or (x == 0 and sign):
        raise ValueError('not a point')
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = decompress((4 * pow(5, P - 2, P) % P).to_bytes(32, 'little'))


def ed25519(public, message, signature):
    x, y, z, t = decompress(public)
    s = int.from_bytes(signature[32:], 'little')
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), 'little') % L
    if len(signature) != 64 or s >= L:
        return False
    x, y, z, _ = combine(s, BASE, k, (-x, y, z, -t))
    inverse = pow(z, P - 2, P)
    r = y * inverse % P | (x * inverse % P & 1) << 255
    return r.to_bytes(32, 'little') == signature[:32]


# c2sp.org/signed-note and tlog-checkpoint.

def verifier_key(text):
    """(name, key id) and the public key of `name+hex id+base64 of a byte 1 and the key`."""
    if text.count('+') < 2:
        raise ValueError(f'{text!r} is neither a verifier key (name+hash+key) nor a file of them')
    name, identity, encoded = text.split('+', 2)
    raw = unbase64(encoded, 33)
    if raw[0] != 1 or sha256(name.encode(), b'\n', raw)[:4].hex() != identity:
        raise ValueError('not an Ed25519 verifier key')
    return (name, bytes.fromhex(identity)), raw[1:]


def open_note(note, keys):
    """The text of a note, and those of the verifier keys that signed it; every signature of theirs holds."""
    text, gap, lines = note.rpartition('\n\n')
    if not gap or not lines.endswith('\n'):
        raise ValueError('not a signed note')
    text, known, signers = text + '\n', {verifier_key(key)[0]: key for key in keys}, []
    for line in lines[:-1].split('\n'):
        if not re.fullmatch('— [^ ]+ [^ ]+', line):
            raise ValueError('not a signature line')
        _, name, encoded = line.split(' ')
        raw = unbase64(encoded)
        if len(raw) < 5:
            raise ValueError('not a signature line')
        key = known.get((name, raw[:4]))
        if key:
            if not ed25519(verifier_key(key)[1], text.encode(), raw[4:]):
                raise ValueError('a signature does not hold')
            signers.append(key)
    return text, signers


def checkpoint(text):
    if not re.fullmatch('[^\n]+\n(0|[1-9][0-9]{0,15})\n[^\n]+\n', text):
        raise ValueError('not a checkpoint')
    origin, size, root, _ = text.split('\n')
    return origin, int(size), unbase64(root, 32)


LOG_ID = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')
NOTE = re.compile(r'^[^—\n][^\n]*\n[0-9]{1,16}\n[A-Za-z0-9+/]{43}=\n\n(?:— [^\s+]+ [A-Za-z0-9+/]{91,}={0,2}\n)+', re.MULTILINE)


def notes(text):
    """The notes of a file, one behind another; what a write that broke off has left between them is none."""
    return NOTE.findall(text)


# RFC 6962.

def split(size):
    return 1 << (size - 1).bit_length() - 1


def subtrees(size):
    """The complete trees, from left to right, that a tree of so many leaves consists of."""
    low = 0
    for bit in reversed(range(size.bit_length())):
        if size >> bit & 1:
            yield low, low + (1 << bit)
            low += 1 << bit


def join(roots):
    """The root over those of complete trees."""
    return functools.reduce(lambda right, left: sha256(b'\1', left, right), reversed(roots)) if roots else sha256()


def grow(parts, leaf):
    """Complete trees, of so many leaves each, with one leaf more."""
    count = 1
    while parts and parts[-1][0] == count:
        leaf, count = sha256(b'\1', parts.pop()[1], leaf), 2 * count
    parts.append((count, leaf))


def climb(index, size, leaf, path, see):
    """The root that a path leads to; `see` is told of each node on it and beside it."""
    low, high, steps = 0, size, []
    while high - low > 1:
        middle = low + split(high - low)
        steps.append((index < middle, low, middle, high))
        low, high = (low, middle) if index < middle else (middle, high)
    if len(path) != len(steps):
        raise ValueError('a proof of another length')
    see((index, index + 1), leaf)
    for (is_left, low, middle, high), sibling in zip(reversed(steps), path):
        see((middle, high) if is_left else (low, middle), sibling)
        leaf = sha256(b'\1', leaf, sibling) if is_left else sha256(b'\1', sibling, leaf)
        see((low, high), leaf)
    return leaf


# The export.

class Verifier:
    def __init__(self, pubs, against, now):
        self.pubs, self.against, self.now = pubs, against, now
        self.findings, self.lacking, self.proven = [], [], []
        self.seen, self.named_leaves, self.next, self.nodes = set(), set(), 0, {}
        self.last, self.broken, self.keys, self.marks, self.inner = {}, [], [], [], 0
        self.named = False
        self.passed_over, self.unproven, self.tail, self.later, self.remarks = [], False, [], [], []
        self.unsigned, self.counts = {}, {'event': 0, 'removed': 0, 'uncovered': 0}

    def finding(self, kind, place, words):
        self.findings.append({'class': kind, 'at': place, 'detail': words})

    def guard(self, kind, place, judge, *arguments):
        """Whatever a judgement stumbles over is a finding: the file may hold anything in the place of anything."""
        try:
            return judge(*arguments)
        except Bad as bad:
            self.finding(bad.args[0], place, bad.args[1])
        except UnicodeDecodeError:
            self.finding(kind, place, 'not UTF-8')
        except ValueError as error:
            self.finding(kind, place, str(error))
        except Exception:
            self.finding(kind, place, 'a field is lacking, or holds something else than the format says')

    def run(self, lines):
        digest, line = hashlib.sha256(), None
        lines = self.checked(lines)
        for position, following in enumerate(lines):
            if line is not None:
                digest.update(line)
                if position > 1:
                    self.guard('altered', f'line {position}', self.body, line)
                elif not self.guard('manifest', 'manifest', self.manifest, line):
                    return
            line = following
        if not self.findings and not self.is_end(line):
            raise NotAnExport('it breaks off before its last line, as a copy or a download that was cut short: get it once more')
        if not hasattr(self, 'root'):
            return self.finding('end', 'end', 'the file ends with its first line')
        self.guard('end', 'end', self.end, line, digest.hexdigest())
        self.completeness()
        self.guard('signature', 'manifest', self.trust)
        self.outside()
        self.conclude()

    def checked(self, lines):
        """The lines of an export. What does not begin as one is none, and nobody can say that it was tampered with."""
        lines = iter(lines)
        first = next(lines, None)
        if first is None:
            raise NotAnExport('it is empty')
        try:
            manifest = parse(first.decode())
            begins = manifest['type'] == 'manifest' and manifest['format'] == 'weir-audit-export/1'
        except (ValueError, KeyError, TypeError):
            begins = False
        if not begins:
            raise NotAnExport('its first line is not the manifest of a weir-audit-export/1')
        yield first
        yield from lines

    @staticmethod
    def is_end(raw):
        try:
            return raw.endswith(b'\n') and parse(raw.decode())['type'] == 'end'
        except (ValueError, KeyError, TypeError):
            return False

    def conclude(self):
        """What cannot be excluded."""
        if self.unproven:
            self.lacking.append(f'unproven from entry {max(self.proven, default=0)} on: nobody vouches for the key that has signed the checkpoint. Where the key of the log was rotated, the later one may be lacking among those that were named (--pub): weir audit key prints all')
        for mark in self.marks:
            if mark not in self.proven:
                self.lacking.append(f'the first {mark} leaves were imported: no checkpoint of their own log covers them all')
        last, others = max(self.proven, default=0), [note for note in self.against if note.split('\n')[0] != self.log]
        if others and len(others) < len(self.against):
            self.remarks.append(f'{len(others)} of the checkpoints from outside are of another log: they do not count')
        if not last:
            words = 'no checkpoint from outside (--against) agrees: nobody can say whether the log was once another'
            if self.against and len(others) == len(self.against):
                words = f'the checkpoints from outside (--against) are of another log, not of {self.log}: they say nothing of this one'
            self.lacking.append(words)
        elif self.later and last < self.size:
            self.lacking.append(f'the checkpoints from outside go on to {max(self.later)} leaves, and none is of the {self.size} of this export: nobody can say whether they were the same')
        if self.later:
            self.remarks.append(f'the log has gone on to {max(self.later)} leaves: of what is behind the {self.size} of this export it says nothing')
        open_ones = len(self.unsigned) - max(last - self.size, 0)
        if open_ones > 0:
            self.lacking.append(f'whether the last {open_ones} events are of the log, or invented: they are behind the checkpoint, and nobody has signed them')
        if not self.whole:
            self.lacking.append('the export of one organization cannot show that no event was left out: only an export of the whole log can')

    def line(self, raw, fields, optional=()):
        value = parse(raw.decode())
        if not raw.endswith(b'\n') or not set(fields) <= set(value) - {'type'} <= set(fields) | set(optional):
            raise ValueError('not a line with its fields')
        return value

    def manifest(self, raw):
        value = self.line(raw, ['format', 'log', 'organization_id', 'checkpoint', 'public_keys'])
        self.log, self.public, self.whole = value['log'], value['public_keys'], value['organization_id'] is None
        if any(verifier_key(key)[0][0] != self.log for key in self.public):
            raise Bad('key', 'a public key has the name of another log')
        origin, self.size, root = checkpoint(value['checkpoint'].rpartition('\n\n')[0] + '\n')
        self.note, self.origin, self.trusted = value['checkpoint'], origin, set()
        for note in self.against:  # the nodes that older roots are made of
            size = note.split('\n')[1:2]
            if size and size[0].isdecimal() and len(size[0]) < 16:
                self.nodes.update(dict.fromkeys(subtrees(int(size[0]))))
        self.nodes.update(dict.fromkeys(subtrees(self.size)))
        self.root = root
        return True

    def body(self, raw):
        value = parse(raw.decode())
        kind, index = value['type'], value.get('index')
        self.counts[kind] += 1
        if isinstance(index, float) and 0 <= index < self.size and not index % 1:
            self.named_leaves.add(index)
        judge = {'event': self.covered, 'removed': self.removed, 'uncovered': self.uncovered}[kind]
        judge(raw)

    def opened(self, text):
        """The event of a canonical form, its hash, and the text that its leaf is the hash of."""
        event = parse(text)
        if set(event) != {'data', 'id', 'metadata', 'revision', 'stream', 'type'} or canonical(event) != text:
            raise ValueError('not the canonical form of an event')
        hashed = sha256(b'\0', text.encode())
        stub = {'hash': base64.b64encode(hashed).decode(), 'revision': event['revision'], 'stream': event['stream']}
        return event, hashed, canonical(stub) if event['stream'].split('-')[0] in STUBBED else None

    def leaf(self, value, text):
        """Climbs from a leaf to the root."""
        index, found = int(value['index']), {}
        path = [unbase64(node, 32) for node in value['proof']]
        if index != value['index'] or not 0 <= index < self.size:
            raise Bad('inserted', 'a leaf behind the checkpoint')
        if climb(index, self.size, sha256(b'\0', text.encode()), path, found.__setitem__) != self.root:
            raise ValueError(f'leaf {index} is not what was signed')
        self.nodes.update((node, found[node]) for node in found.keys() & self.nodes.keys())
        if index in self.seen:
            raise Bad('duplicated', f'leaf {index} is there twice')
        self.seen.add(index)
        return index

    def covered(self, raw):
        value = self.line(raw, ['index', 'event', 'proof'], ['stub', 'audit_log_id'])
        event, hashed, stub = self.opened(value['event'])
        if value.get('stub') != stub:
            raise ValueError('the stub is of another event')
        index = self.leaf(value, value['event'] if stub is None else stub)
        self.inner = len(self.unsigned)
        before, self.next = self.next, index + 1
        self.chain(event, hashed)
        if event['stream'] == 'auditLog-keys':
            self.keys.append((event, True))
        elif event['type'] == 'log.imported':
            self.marks.append(index)
        elif event['stream'] == 'log-id' and not self.named and LOG_ID.fullmatch(str(event['data'].get('log_id'))):
            self.named = True  # the first holds; what others have written behind it is nothing
            if 'weir/' + event['data']['log_id'] != self.log:
                raise ValueError('the log has another id')
        if index + 1 < before:
            raise Bad('reordered', f'leaf {index} stands behind leaf {before - 1}')

    def removed(self, raw):
        value = self.line(raw, ['index', 'stub', 'proof'])
        stub = parse(value['stub'])
        if set(stub) != {'hash', 'revision', 'stream'} or stub['stream'].split('-')[0] not in STUBBED:
            raise ValueError('not what stays of an event that may be removed')
        index = self.leaf(value, value['stub'])
        if (stub['stream'], stub['revision']) in self.unsigned:
            raise ValueError(f'leaf {index} was not removed, another event is there')
        category, days = stub['stream'].split('-')[0], re.search(r'\d{8}$', stub['stream'])
        if category in KEPT_DAYS and days:
            first = datetime.strptime(days.group(), '%Y%m%d').replace(tzinfo=timezone.utc)
            if (first + timedelta(days=KEPT_DAYS[category] - 1)).timestamp() > self.now:
                raise Bad('missing', f'leaf {index} is gone, and its time is not over')

    def uncovered(self, raw):
        text = self.line(raw, ['event'], ['audit_log_id'])['event']
        event, hashed, stub = self.opened(text)
        self.tail.append(sha256(b'\0', (text if stub is None else stub).encode()))
        if event['stream'] == 'auditLog-keys':
            self.keys.append((event, False))
        self.unsigned[event['stream'], event['revision']] = self.next
        self.next += 1
        self.chain(event, hashed)

    def chain(self, event, hashed):
        stream, revision, prev = event['stream'], event['revision'], event['metadata'].get('prev')
        before, hash_before = self.last.get(stream, (None, None))
        self.last[stream] = revision, hashed
        if stream.split('-')[0] not in CHAINED:
            return
        known = before is not None and (self.whole or before == revision - 1)
        first = revision == 0 or (self.whole and before is None and stream.split('-')[0] not in STUBBED)
        if (known or first) and prev != (base64.b64encode(hash_before).decode() if known else None):
            self.broken.append((stream, f'{stream}@{revision:.0f}', 'was not written behind the event before'))

    def completeness(self):
        """What is in the place of signed events, or between them; a whole log has a line for each leaf."""
        touched = set()
        for number, ((stream, revision), index) in enumerate(self.unsigned.items()):
            if number < self.inner or (self.whole and index < self.size and index not in self.seen):
                touched.add(stream)
                stands = not self.whole or index not in self.seen
                kind = 'inserted' if not stands else 'genesis' if index == 0 and self.whole else 'altered'
                self.finding(kind, f'{stream}@{revision:.0f}', 'is not an event that was signed')
                self.seen.add(index)
        there = self.seen | self.named_leaves  # a line that names a leaf and is not right is a finding already
        if self.whole and len(there) < self.size:
            first = next(index for index in range(self.size) if index not in there)
            self.finding('missing', f'leaf {first}', f'{self.size - len(there)} that were signed are not there, this one first')
        for stream, place, words in self.broken:
            if stream not in touched:
                self.finding('chain', place, words)

    def end(self, raw, digest):
        value = self.line(raw, ['events', 'removed', 'uncovered', 'sha256'])
        counts = [value['events'], value['removed'], value['uncovered']]
        if value['type'] != 'end' or counts != list(self.counts.values()) or value['sha256'] != digest:
            raise ValueError('other lines stood before this one, or it is not the last')

    def known(self, key):
        """Whether the outside knows a key: it was named, or it alone has signed a checkpoint that was kept."""
        own = f'\n— {self.log} '
        return key in self.pubs or any(note.count(own) == 1 and self.signs(note, key) for note in self.against)

    def signs(self, note, key):
        try:
            text, signers = open_note(note, [key])
            return key in signers and text.split('\n')[0] == verifier_key(key)[0][0]
        except ValueError:
            return False

    def follows(self, data, before):
        """Whether a key has signed that this one is the next."""
        try:
            text, signers = open_note(data['note'], [before['public_key']])
            said = f"key {data['number']:.0f} of {self.log}\n{data['public_key']}\n"
            return bool(signers) and text == said and data['number'] == before['number'] + 1
        except (KeyError, TypeError, ValueError, AttributeError):
            return False

    def trust(self):
        """The keys that the outside knows, and those that one of them leads to. An event alone makes no key trusted."""
        chain, force = [], 0
        for event, is_covered in self.keys:
            data = event['data']
            try:
                verifier_key(data['public_key'])
                if not 1 <= data['number'] <= 1_000_000 or data['number'] % 1:
                    raise ValueError('not the number of a key')
            except (KeyError, TypeError, ValueError, AttributeError):
                continue
            first = event['revision'] == 0 and not (self.pubs or self.against or chain)
            again = any(key['public_key'] == data['public_key'] for key in chain)
            if not again and (self.known(data['public_key']) or first or (chain and self.follows(data, chain[-1]))):
                chain.append(data)
                force = len(chain) - 1 if is_covered else force
            else:
                self.passed_over.append((event['revision'], data['public_key']))
        outside = self.pubs or self.against
        if not outside:
            self.lacking.append('the log’s key is known from the file alone (--pub)')
        believed = [key['public_key'] for key in chain]
        if not self.whole:  # the events of one organization tell of no key: each has to be known
            believed = [key for key in self.public if self.known(key)] if outside else self.public[:1]
        named = [key for key in self.pubs if key not in believed]
        self.trusted = {*believed, *named}
        announced = {*believed, *(key for _, key in self.passed_over)}
        signers = {key for key in {*self.public, *announced, *named} if self.signs(self.note, key)}
        if self.origin != self.log or not signers & {*self.public}:
            raise ValueError('the checkpoint is not signed by a key of this log')
        if self.pubs and not {*self.pubs} & (announced | signers):
            raise Bad('key', 'none of the keys that were named is one of this log')
        if not signers & {*believed[force:], *named}:
            # The export of one organization shows no rotation: a later key may be the log's, and may not.
            if self.whole and not signers & {key for _, key in self.passed_over}:
                raise Bad('signature', 'the checkpoint is not signed by the key in force')
            self.unproven = True

    def outside(self):
        """Holds the export against each checkpoint from outside that it can be held against."""
        strangers, differing = [], []
        for note in self.against:
            if note.split('\n')[0] != self.log:  # of another log: it says nothing of this one
                continue
            try:
                text, signers = open_note(note, sorted(self.trusted))
                _, size, root = checkpoint(text)
            except ValueError:
                signers = []
            if not signers:
                strangers.append(note.split('\n')[1])
                continue
            computed = self.root_of(size)
            if computed is None and size > self.size:
                self.later.append(size)
            elif computed == root:
                self.proven.append(size)
            elif computed is not None:
                differing.append(size)
        if strangers:
            rest = f', and so it is with {len(strangers) - 1} more' if strangers[1:] else ''
            self.finding('signature', f'outside checkpoint of {strangers[0]} leaves', f'is not signed by a key of this log that anybody vouches for{rest}')
        if differing:
            self.finding('forked', f'outside checkpoint of {min(differing)} leaves', 'is of a log that went another way, as where an older backup is restored and goes on')

    def root_of(self, size):
        """The root of the first leaves; None where the export does not have it: one of an organization has few paths."""
        if size == self.size:
            return self.root
        roots = {node: self.nodes.get(node) for node in subtrees(min(size, self.size))}
        if None in roots.values() or (size > self.size and (not self.whole or size > self.size + len(self.tail))):
            return None
        parts = [(high - low, root) for (low, high), root in roots.items()]
        for leaf in self.tail[:max(size - self.size, 0)]:
            grow(parts, leaf)
        return join([root for _, root in parts])


def verify(export, pubs=(), against=(), now=None):
    """{status, findings, lacking, remarks} of a file; `pubs` are verifier keys, `against` files with checkpoints, `now` in seconds."""
    outside = []
    for name in against:
        with open(name, encoding='utf-8', newline='') as file:
            found = notes(file.read())
        if not found:
            raise NotAnExport(f'{name} holds no signed checkpoint')
        outside += found
    verifier = Verifier(pubs, outside, time.time() if now is None else now)
    with open(export, 'rb') as file:
        try:
            verifier.run(file)
        except NotAnExport as error:
            raise NotAnExport(f'{export} is not an export of an audit log: {error}')
    status = 1 if verifier.findings else 2 if verifier.lacking else 0
    passed_over = [f'nobody vouches for the key of auditLog-keys@{revision:.0f}: it is passed over' for revision, _ in verifier.passed_over]
    return {'status': status, 'findings': verifier.findings, 'lacking': verifier.lacking, 'remarks': passed_over + verifier.remarks}


def keys_in(text):
    """The verifier keys of a text, or of the file that it names."""
    words = text.split()
    if os.path.isfile(text):
        with open(text, encoding='utf-8') as file:
            words = file.read().split()
    if not words:
        raise ValueError(f'{text!r} holds none')
    for key in words:
        verifier_key(key)
    return words


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(64, f'{message}\n')


def main(arguments):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('export', help='the file; - for lines of JSON {export, pubs, against, now} on standard input')
    parser.add_argument('--pub', action='append', default=[], metavar='KEYS')
    parser.add_argument('--against', action='append', default=[], metavar='CHECKPOINTS')
    options = parser.parse_args(arguments)
    if options.export == '-':
        for line in sys.stdin:
            try:
                answer = verify(**json.loads(line))
            except NotAnExport as error:
                answer = {'status': 3, 'findings': [], 'lacking': [], 'remarks': [str(error)]}
            print(json.dumps(answer), flush=True)
        return 0
    try:
        pubs = [key for text in options.pub for key in keys_in(text)]
    except (OSError, ValueError) as error:
        print('--pub names no verifier keys:', error, file=sys.stderr)
        return 3 if isinstance(error, OSError) else 64
    try:
        result = verify(options.export, pubs, options.against)
    except UnicodeDecodeError:
        print('A file with checkpoints is not UTF-8.', file=sys.stderr)
        return 3
    except (OSError, NotAnExport) as error:
        print(error, file=sys.stderr)
        return 3
    for finding in result['findings']:
        print(f"{finding['class']:12}{finding['at']}: {finding['detail']}")
    for lacking in result['lacking']:
        print('cannot be excluded:', lacking)
    for remark in result['remarks']:
        print('beyond this proof:', remark)
    print(('Whole.', 'Tampered with.', 'Nothing is wrong, as far as could be checked.')[result['status']])
    return result['status']


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
