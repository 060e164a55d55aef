import type { ProxyFiles } from './proxy-files.ts';

/** One thread, three stick tables of request rates over a minute, no logs. */
export const haproxyConfig = ({ port, bodyFile, upstreamPort }: ProxyFiles): string => `
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  no log
backend by_key
  stick-table type binary len 32 size 200k expire 60s store http_req_rate(60s)
backend by_project
  stick-table type binary len 32 size 200k expire 60s store http_req_rate(60s)
backend by_organization
  stick-table type binary len 32 size 200k expire 60s store http_req_rate(60s)
frontend bench
  bind 127.0.0.1:${port}
  http-request track-sc0 req.hdr(authorization),bytes(7,32) table by_key
  http-request track-sc1 req.hdr(authorization),bytes(11,6) table by_project
  http-request track-sc2 req.hdr(authorization),bytes(11,3) table by_organization
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt 100000000 }
  http-request deny deny_status 429 if { sc_http_req_rate(1) gt 100000000 }
  http-request deny deny_status 429 if { sc_http_req_rate(2) gt 100000000 }
${
  upstreamPort === null
    ? `  http-request return status 200 content-type "application/json" file ${bodyFile}`
    : `  default_backend upstream
backend upstream
  http-reuse always
  server sim 127.0.0.1:${upstreamPort} maxconn 1024`
}
`;
