import type { Parsed } from './service-under-test.ts'

export interface JsonResponse {
  status: number
  headers: Headers
  text: string
  /** Undefined when the body is empty. */
  json: Parsed
}

export interface JsonRequest {
  body?: unknown
  /** The body as it is, in place of `body`. */
  raw?: string
  headers?: Record<string, string>
}

/** Sends a request, as JSON when it has a body, and reads the response, which is JSON or empty. */
export async function sendJson(
  url: string,
  method: string,
  request: JsonRequest = {},
): Promise<JsonResponse> {
  const body = request.raw ?? (request.body === undefined ? undefined : JSON.stringify(request.body))
  const sent = body === undefined ? {} : { body }
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const response = await fetch(url, { method, headers: { ...type, ...request.headers }, ...sent })
  const text = await response.text()
  const json = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, headers: response.headers, text, json }
}
