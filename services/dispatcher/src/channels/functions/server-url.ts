import { withoutTrailingSlashes } from '@parley/shared/server-url'
import type { FoundOperation } from './operation.ts'
import { isObject, memberOf, type SpecDocument } from './spec-document.ts'
import { SpecError } from './spec-error.ts'

/** The URL that an operation's path comes behind: its own, its path's or its document's first server. */
export function serverUrl({ root }: SpecDocument, { operation, item }: FoundOperation): string {
  const servers = [operation, item, root].map((owner) => memberOf(owner, 'servers')).find(isServerList)
  const server = servers?.[0]
  const template = memberOf(server, 'url')
  if (typeof template !== 'string') throw new SpecError('names no server')
  const variables = memberOf(server, 'variables')
  const text = template.replaceAll(/\{([^{}]*)\}/g, (_whole, name: string) => {
    const value = memberOf(memberOf(variables, name), 'default')
    return String(value ?? '')
  })
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new SpecError('has a server without an http(s) URL')
  const { protocol, host, pathname } = new URL(text)
  return `${protocol}//${host}${withoutTrailingSlashes(pathname)}`
}

function isServerList(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > 0 && isObject(value[0])
}
