import type { IncomingMessage, ServerResponse } from 'node:http'

/** A request as Node has it. Express adds where it came from, when a mount has changed its `url`. */
export type ReceivedRequest = IncomingMessage & { originalUrl?: string }

/** A response as Node has it, with what is known of its request so far. Express has `locals` too. */
export type PendingResponse = ServerResponse & { locals: Record<string, unknown> }

/** The path of a request, without its query, which may hold secrets. */
export function pathOf({ originalUrl, url = '/' }: ReceivedRequest): string {
  const target = originalUrl ?? url
  const end = target.indexOf('?')
  return end === -1 ? target : target.slice(0, end)
}
