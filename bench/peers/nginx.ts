import type { ProxyFiles } from './proxy-files.ts';

/** As fast as limit_req can count; with this burst nobody is ever refused. */
const rate = 'rate=1000000r/s';
const zone = 'burst=1000000 nodelay';

/**
 * One worker, three zones of request rates, no logs. The fixed body is a static file: `return` would answer before the
 * limits are looked at.
 */
export const nginxConfig = ({ port, dir, bodyFile, upstreamPort }: ProxyFiles): string => `
daemon off;
master_process off;
worker_processes 1;
pid ${dir}/nginx-${port}.pid;
error_log /dev/null crit;
events { worker_connections 4096; }
http {
  access_log off;
  tcp_nodelay on;
  sendfile on;
  keepalive_requests 1000000000;
  client_body_temp_path ${dir}/nginx-body-${port};
  proxy_temp_path ${dir}/nginx-proxy-${port};
  fastcgi_temp_path ${dir}/nginx-fastcgi-${port};
  uwsgi_temp_path ${dir}/nginx-uwsgi-${port};
  scgi_temp_path ${dir}/nginx-scgi-${port};
  client_max_body_size 1m;
  client_body_buffer_size 256k;
  default_type application/json;
  open_file_cache max=16;
  map $http_authorization $project { "~^Bearer .{4}(?<p>.{6})" $p; }
  map $http_authorization $organization { "~^Bearer .{4}(?<o>.{3})" $o; }
  limit_req_zone $http_authorization zone=by_key:32m ${rate};
  limit_req_zone $project zone=by_project:32m ${rate};
  limit_req_zone $organization zone=by_organization:32m ${rate};
${upstreamPort === null ? '' : `  upstream sim { server 127.0.0.1:${upstreamPort}; keepalive 1024; keepalive_requests 1000000000; }\n`}
  server {
    listen 127.0.0.1:${port};
    limit_req zone=by_key ${zone};
    limit_req zone=by_project ${zone};
    limit_req zone=by_organization ${zone};
    limit_req_status 429;
    location / {
${
  upstreamPort === null
    ? `      root ${dir};
      try_files /${bodyFile.slice(dir.length + 1)} =404;`
    : `      proxy_pass http://sim;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering on;
      proxy_buffers 16 32k;`
}
    }
  }
}
`;
