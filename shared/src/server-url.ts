import { readFileSync } from 'node:fs'
import { z } from 'zod'

interface Host {
  hostname: string
  port: number
}

/** A URL that may name several hosts of one server: `scheme://user:password@host:port,host:port/path?parameters`. */
export interface ServerUrl {
  /** Without the colon. */
  scheme: string
  username: string | undefined
  password: string | undefined
  /** At least one, in the order given. */
  hosts: Host[]
  /** Decoded, without the slash; undefined when there is none. */
  path: string | undefined
  parameters: URLSearchParams
}

const MAX_PORT = 65_535

/** Reads a URL with one of `ports`' schemes, whose ports it gives to hosts without one. Throws when it is none. */
function parseServerUrl(text: string, ports: Record<string, number>): ServerUrl {
  const [address = '', query = ''] = splitAt(text, '?')
  const [scheme = '', rest] = splitAt(address, '://')
  const port = ports[scheme]
  if (port === undefined || rest === undefined) throw new Error(`begins with none of ${Object.keys(ports)}`)
  const [authority = '', path] = splitAt(rest, '/')
  const at = authority.lastIndexOf('@')
  const [username, password] = at < 0 ? [] : splitAt(authority.slice(0, at), ':')
  return {
    scheme,
    username: decoded(username),
    password: decoded(password),
    hosts: authority
      .slice(at + 1)
      .split(',')
      .map((host) => parseHost(host.trim(), port)),
    path: decoded(path),
    parameters: new URLSearchParams(query),
  }
}

function splitAt(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)]
}

const decoded = (text: string | undefined) => (text === undefined ? undefined : decodeURIComponent(text))

function parseHost(text: string, defaultPort: number): Host {
  const [, bracketed, name, port] = /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const hostname = bracketed ?? name
  const number = port === undefined ? defaultPort : Number(port)
  if (hostname === undefined || number < 1 || number > MAX_PORT) throw new Error('names no host')
  return { hostname, port: number }
}

/**
 * The files that a URL names for TLS, read: the parameters of RabbitMQ's own URIs, `cacertfile`, `certfile` and
 * `keyfile`. https://www.rabbitmq.com/docs/uri-query-parameters
 */
export function readTlsFiles({ parameters }: Pick<ServerUrl, 'parameters'>) {
  const files = { ca: 'cacertfile', cert: 'certfile', key: 'keyfile' }
  const read = Object.entries(files).flatMap(([option, parameter]) => {
    const file = parameters.get(parameter)
    return file === null ? [] : [[option, readFileSync(file)] as const]
  })
  return Object.fromEntries(read) as { ca?: Buffer; cert?: Buffer; key?: Buffer }
}

const AMQP_PORTS = { amqp: 5672, amqps: 5671 }

/** `amqp(s)://user:password@host:port,host:port/virtual host`: the hosts of one cluster. Throws when it is none. */
export const parseAmqpUrl = (text: string): ServerUrl => parseServerUrl(text, AMQP_PORTS)

const REDIS_PORTS = {
  redis: 6379,
  rediss: 6379,
  'redis+cluster': 6379,
  'rediss+cluster': 6379,
  'redis+sentinel': 26_379,
  'rediss+sentinel': 26_379,
}

/**
 * `redis(s)://…/database`, `redis(s)+cluster://host,host` or `redis(s)+sentinel://host,host/name/database`, each with
 * `user:password@` where it is needed. Throws when it is none.
 */
export function parseRedisUrl(text: string): ServerUrl & { kind: 'single' | 'cluster' | 'sentinel' } {
  const url = parseServerUrl(text, REDIS_PORTS)
  const kind = url.scheme.endsWith('+cluster')
    ? 'cluster'
    : url.scheme.endsWith('+sentinel')
      ? 'sentinel'
      : 'single'
  if (kind === 'single' && url.hosts.length > 1)
    throw new Error('names several hosts, but neither cluster nor sentinel')
  if (kind === 'sentinel' && !url.path) throw new Error("lacks the name of the sentinels' master")
  return { ...url, kind }
}

const checkedBy = (parse: (text: string) => unknown) =>
  z.string().superRefine((text, context) => {
    try {
      parse(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'is no URL' })
    }
  })

/** A key of the environment that says where RabbitMQ is. */
export const amqpUrl = checkedBy(parseAmqpUrl)
/** A key of the environment that says where Redis is. */
export const redisUrl = checkedBy(parseRedisUrl)

/** The URL or path without the slashes at its end. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length
  while (text[end - 1] === '/') end--
  return text.slice(0, end)
}
