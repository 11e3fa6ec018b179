import express, { type RequestHandler, Router } from 'express'
import { failAsScripted, keyOf } from './chat-routes.ts'
import { ProviderError } from './provider-error.ts'
import type { RequestLog } from './request-log.ts'
import type { Script } from './script.ts'

const MAX_BODY_BYTES = 32 * 1024 * 1024

/** POST /v1/audio/transcriptions: the text of the script, else how many bytes the audio has. */
export function transcriptionRoutes(options: {
  script: Pick<Script, 'next'>
  requests: Pick<RequestLog, 'add'>
}): Router {
  const { script, requests } = options
  const router = Router()
  const raw = express.raw({ type: 'multipart/form-data', limit: MAX_BODY_BYTES })
  router.post('/audio/transcriptions', raw, (async (req, res) => {
    const { file, model } = await readForm(req.body, req.headers['content-type'])
    const path = '/v1/audio/transcriptions'
    const body = { file: { name: file.name, type: file.type, bytes: file.size } }
    requests.add({ path, model, stream: false, messages: 0, lastUserText: '', key: keyOf(req), body })
    const scripted = script.next({ path: 'transcription', model, lastUserText: '', text: () => '' })
    await failAsScripted(scripted, res)
    if (res.closed || res.writableEnded || scripted?.broken === 'silent') return
    if (scripted?.broken !== undefined) return void res.type('json').send('{"text": ')
    res.json({ text: scripted?.text ?? `Audio of ${file.size} bytes` })
  }) satisfies RequestHandler)
  return router
}

async function readForm(body: unknown, contentType = ''): Promise<{ file: File; model: string }> {
  const bytes = Buffer.isBuffer(body) ? new Uint8Array(body) : new Uint8Array()
  const form = await new Response(bytes, { headers: { 'content-type': contentType } })
    .formData()
    .catch(() => undefined)
  const [file, model] = [form?.get('file'), form?.get('model')]
  if (file instanceof File && typeof model === 'string') return { file, model }
  throw new ProviderError({ status: 400, message: 'file and model are required' })
}
