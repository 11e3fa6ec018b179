import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages } from '@parley/local/servers/apt'

const BINARY = '/usr/sbin/nginx'

/** Installs nginx where it is missing, and returns what runs it in the foreground with this set-up. */
export async function nginxCommand(options: {
  directory: string
  port: number
  upstreamPort: number
  tokenCheckPort: number
}): Promise<[command: string, args: string[]]> {
  const { port, upstreamPort, tokenCheckPort } = options
  const directory = join(options.directory, 'nginx')
  if (!existsSync(BINARY)) {
    const { signal } = new AbortController()
    await installPackages(['nginx-light'], {
      directory: options.directory,
      ports: {},
      say: console.error,
      signal,
    })
  }
  mkdirSync(directory)
  writeFileSync(
    join(directory, 'nginx.conf'),
    `daemon off;
worker_processes 1;
pid ${directory}/nginx.pid;
error_log ${directory}/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  keepalive_requests 100000000;
  upstream service { server 127.0.0.1:${upstreamPort}; keepalive 128; keepalive_requests 100000000; }
  upstream check { server 127.0.0.1:${tokenCheckPort}; keepalive 128; keepalive_requests 100000000; }
  limit_req_zone $http_authorization zone=token:10m rate=1000000r/s;
  server {
    listen 127.0.0.1:${port};
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    location / {
      limit_req zone=token burst=1000000 nodelay;
      auth_request /check;
      proxy_pass http://service;
    }
    location = /check {
      internal;
      proxy_pass http://check;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
    }
  }
}
`,
  )
  return [BINARY, ['-c', join(directory, 'nginx.conf')]]
}
