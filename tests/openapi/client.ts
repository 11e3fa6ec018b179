import createClient, { type Client } from 'openapi-fetch'
import type { paths } from './api-types.ts'

export type ParleyClient = Client<paths>

/** A client of the API whose paths, parameters, bodies and answers are those of the document. */
export function parleyClient(baseUrl: string, token?: string): ParleyClient {
  return createClient<paths>({
    baseUrl,
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
  })
}

/** The answer of a call that must succeed; throws with what it was refused for. */
export async function succeeded<T>(
  call: Promise<{ data?: T; error?: { code: string; detail?: string | undefined }; response: Response }>,
): Promise<T> {
  const { data, error, response } = await call
  if (data === undefined)
    throw new Error(`${response.url} was refused: ${error?.code} ${error?.detail ?? ''}`)
  return data
}
