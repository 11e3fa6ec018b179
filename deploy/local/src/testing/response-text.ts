/** The body of a response; of an event stream, which does not end by itself, what comes first. */
export async function responseText(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text()
  const reader = response.body?.pipeThrough(new TextDecoderStream() as never).getReader()
  const first = await reader?.read()
  await reader?.cancel()
  return String(first?.value ?? '')
}
