import { setTimeout as pause } from 'node:timers/promises'
import express, { type Request, type RequestHandler, type Response, Router } from 'express'
import { ProviderError } from './provider-error.ts'
import type { RequestLog } from './request-log.ts'
import { type ChatRequest, chatRequest, lastOfPerson, type Reply, replyByRules, textOf } from './rules.ts'
import type { Script, ScriptedResponse } from './script.ts'

const CHARACTERS_IN_TOKEN = 4
const CHUNK_CHARACTERS = 8

/** A long text in small chunks would be many times as long. */
const MAX_CHUNKS = 1_000
const MAX_BODY_BYTES = 32 * 1024 * 1024
const KEY_CHARACTERS = 4
const SHOWN_TEXT = 200

interface Parts {
  script: Pick<Script, 'next'>
  requests: Pick<RequestLog, 'add'>
}

/** POST /v1/chat/completions */
export function chatRoutes({ script, requests }: Parts): Router {
  const router = Router()
  router.post('/chat/completions', express.json({ limit: MAX_BODY_BYTES }), (async (req, res) => {
    const request = chatRequest.parse(req.body)
    const { text: lastUserText } = lastOfPerson(request.messages)
    requests.add({
      path: '/v1/chat/completions',
      model: request.model,
      stream: request.stream === true,
      messages: request.messages.length,
      lastUserText: lastUserText.slice(0, SHOWN_TEXT),
      key: keyOf(req),
      body: request,
    })
    checkResults(request)
    const text = () => request.messages.map(textOf).join('\n')
    const scripted = script.next({ path: 'chat', model: request.model, lastUserText, text })
    await failAsScripted(scripted, res)
    if (res.closed || scripted?.broken === 'silent') return
    await reply(res, { request, scripted })
  }) satisfies RequestHandler)
  return router
}

/** The end of a key, as the log shows it. */
export function keyOf({ headers }: Pick<Request, 'headers'>): string | null {
  const key = headers.authorization?.replace(/^Bearer /, '')
  return key === undefined || key === '' ? null : key.slice(-KEY_CHARACTERS)
}

/** Each call needs its result right after it, as OpenAI demands. */
function checkResults({ messages }: ChatRequest): void {
  messages.forEach((message, at) => {
    const ids = (message.tool_calls ?? []).map(({ id }) => id)
    const results = messages.slice(at + 1, at + 1 + ids.length).map((one) => one.tool_call_id)
    if (ids.some((id) => !results.includes(id)) || new Set(ids).size < ids.length)
      throw new ProviderError({
        status: 400,
        message:
          "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
      })
  })
}

/** Waits, and throws the error of the script where it has one. */
export async function failAsScripted(scripted: ScriptedResponse | undefined, res: Response): Promise<void> {
  if (scripted === undefined) return
  if (scripted.delayMs > 0) await pause(scripted.delayMs)
  const { error, broken } = scripted
  if (error?.location !== undefined) res.set('location', error.location)
  if (error !== undefined) throw new ProviderError(error)
  if (broken === 'cut') res.destroy()
  if (broken === 'nothing') res.status(200).end()
}

async function reply(
  res: Response,
  { request, scripted }: { request: ChatRequest; scripted: ScriptedResponse | undefined },
): Promise<void> {
  if (res.writableEnded) return
  const completion = completionOf(request, contentOf(request, scripted), scripted)
  if (request.stream === true) return stream(res, { request, scripted, completion })
  const body = JSON.stringify(completion)
  if (scripted?.broken === 'malformed') return void res.type('json').send(`${body.slice(0, -2)}]`)
  if (scripted?.broken !== 'half') return void res.type('json').send(body)
  res.type('json').set('content-length', String(Buffer.byteLength(body)))
  res.write(body.slice(0, body.length / 2), () => res.destroy())
}

/** The content of a response by the script; by the rules where it has none. */
function contentOf(request: ChatRequest, scripted: ScriptedResponse | undefined) {
  const { text, calls, characters } = scripted ?? {}
  if (text === undefined && calls === undefined && characters === undefined) return replyByRules(request)
  return {
    text: characters === undefined ? (text ?? '') : 'x'.repeat(characters),
    calls: (calls ?? []).map(({ id, name, arguments: args }, index) => ({
      id: id ?? `call_${request.messages.length}_${index}`,
      name,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    })),
  }
}

async function stream(
  res: Response,
  options: { request: ChatRequest; scripted: ScriptedResponse | undefined; completion: Completion },
): Promise<void> {
  const { request, scripted, completion } = options
  const chunks = chunksOf(completion, { withUsage: request.stream_options?.include_usage === true })
  const shown = scripted?.broken === 'half' ? chunks.slice(0, Math.ceil(chunks.length / 2)) : chunks
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  for (const chunk of shown) {
    if (res.closed) return
    const text = JSON.stringify(chunk)
    const isWritten = res.write(`data: ${scripted?.broken === 'malformed' ? text.slice(0, -2) : text}\n\n`)
    if (!isWritten && !res.closed) await drained(res)
    if (scripted !== undefined && scripted.chunkDelayMs > 0) await pause(scripted.chunkDelayMs)
  }
  if (scripted?.broken === 'half') return void res.destroy()
  res.end('data: [DONE]\n\n')
}

function drained(res: Response): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.off('drain', done).off('close', done)
      resolve()
    }
    res.once('drain', done).once('close', done)
  })
}

/** A chat completion as OpenAI writes it. */
interface Completion {
  id: string
  object: 'chat.completion'
  created: number
  model: string
  choices: [
    {
      index: 0
      message: { role: 'assistant'; content: string | null; tool_calls?: object[] }
      finish_reason: string
    },
  ]
  usage: object
}

function completionOf(
  { model, messages }: Pick<ChatRequest, 'model' | 'messages'>,
  { text, calls }: Reply,
  scripted: Pick<ScriptedResponse, 'finishReason' | 'usage'> | undefined,
): Completion {
  const toolCalls = calls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }))
  const message = {
    role: 'assistant' as const,
    content: text === '' ? null : text,
    ...(calls.length > 0 && { tool_calls: toolCalls }),
  }
  const read = messages.reduce((sum, one) => sum + textOf(one).length, 0)
  const written = calls.reduce((sum, call) => sum + call.arguments.length, text.length)
  return {
    id: `chatcmpl-${messages.length}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1_000),
    model,
    choices: [
      {
        index: 0,
        message,
        finish_reason: scripted?.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
      },
    ],
    usage: scripted?.usage ?? usageOf(read, written),
  }
}

function usageOf(read: number, written: number) {
  const [prompt, completion] = [read, written].map((characters) =>
    Math.ceil(characters / CHARACTERS_IN_TOKEN),
  )
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: (prompt ?? 0) + (completion ?? 0),
  }
}

/** The same as the chunks of a stream: text and arguments in pieces, then the reason, then the tokens where they are asked for. */
function chunksOf(completion: Completion, { withUsage }: { withUsage: boolean }): object[] {
  const { id, created, model, usage } = completion
  const [{ message, finish_reason }] = completion.choices
  const base = { id, object: 'chat.completion.chunk', created, model }
  const chunk = (delta: object, reason: string | null = null) => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: reason }],
  })
  const calls = (message.tool_calls ?? []) as { id: string; function: { name: string; arguments: string } }[]
  return [
    chunk({ role: 'assistant', content: '' }),
    ...piecesOf(message.content ?? '').map((content) => chunk({ content })),
    ...calls.flatMap(({ id, function: { name, arguments: args } }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...piecesOf(args).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    chunk({}, finish_reason),
    ...(withUsage ? [{ ...base, choices: [], usage }] : []),
  ]
}

function piecesOf(text: string): string[] {
  const size = Math.max(CHUNK_CHARACTERS, Math.ceil(text.length / MAX_CHUNKS))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  )
}
