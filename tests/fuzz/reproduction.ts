import { bytesOf, type FuzzCase, filled } from './fuzz-case.ts'
import type { FuzzWorld } from './world.ts'

const MAX_BODY = 2_000
const quoted = (text: string) =>
  `$'${text.replaceAll(/[\\']/g, '\\$&').replaceAll(/[^\x20-\x7e]/g, escaped)}'`
const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A command that sends a case again while the system of the run is up; no token of it is of use later. */
export function reproduction(one: FuzzCase, { url, fill }: FuzzWorld): string {
  const { hostname, port } = new URL(url)
  if (one.raw !== undefined || one.encoding !== undefined || one.delivery !== undefined) {
    const { bytes } = bytesOf(one, fill)
    const how = one.delivery === undefined ? '' : `  # ${JSON.stringify(one.delivery)}`
    return `echo ${bytes.toString('base64').slice(0, MAX_BODY)} | base64 -d | nc -q5 ${hostname} ${port}${how}`
  }
  const left = ['x-request-id', 'content-length', 'connection', 'host']
  const headers = one.headers
    .filter(([name]) => !left.includes(name))
    .map(([name, value]) => `-H ${quoted(`${name}: ${filled(value, fill)}`.slice(0, MAX_BODY))}`)
  const body =
    one.body === undefined ? '' : ` --data-binary ${quoted(filled(one.body, fill).slice(0, MAX_BODY))}`
  const target = filled(one.target, fill).slice(0, MAX_BODY)
  return `curl -si --path-as-is -g -X ${one.method} ${quoted(url + target)} ${headers.join(' ')}${body}`
}
