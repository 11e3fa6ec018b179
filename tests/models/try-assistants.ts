import { deepStrictEqual, match, ok } from 'node:assert/strict'
import { z } from 'zod'
import { agree } from '../../services/dispatcher/test/consent-server.ts'
import type { Workspace } from '../lab/system/workspace.ts'

const TRIAL_MS = 330_000

const call = z.object({
  tool: z.string(),
  result: z.object({ state: z.string(), text: z.string() }).optional(),
})
const trial = z.object({
  state: z.string(),
  reason: z.string().optional(),
  turns: z.array(
    z.object({
      text: z.string(),
      inputTokens: z.number(),
      outputTokens: z.number(),
      calls: z.array(call),
    }),
  ),
  notes: z.array(z.string()),
})
const tested = z.object({
  state: z.string(),
  tools: z.array(z.object({ name: z.string() })),
  notes: z.array(z.string()),
})
type Trial = z.output<typeof trial>

/** One workspace, in which assistants are made of servers that others wrote, and tried. */
export class Tried {
  readonly #workspace: Workspace
  readonly #url: string
  #id = 0

  constructor(workspace: Workspace, url: string) {
    this.#workspace = workspace
    this.#url = url
  }

  /** An assistant with this action; its id, which is the action's, too. */
  async withAction(action: { specType: string; moduleUrl: string; spec?: string }): Promise<number> {
    const id = ++this.#id
    const named = { name: `Tools ${id}`, description: 'Of others', spec: '', ...action }
    await this.#workspace.call('PUT', `/rest/actions/${id}`, named)
    const assistant = { name: 'Ana', description: 'Helps', backstory: 'Kind', actions: [id] }
    await this.#workspace.call('PUT', `/rest/assistant/${id}`, assistant)
    return id
  }

  /** An assistant whose model is at this address. */
  async withModel(baseUrl: string, more: object = {}): Promise<number> {
    const id = ++this.#id
    const assistant = { name: 'Ana', description: 'Says hello', backstory: '' }
    await this.#workspace.call('PUT', `/rest/assistant/${id}`, assistant)
    await this.#workspace.call('PUT', `/rest/configs/model-${id}`, {
      ...{ name: 'model', owner: id, ownerType: 'assistant' },
      value: { provider: 'openai-compatible', model: 'small', baseUrl, ...more },
    })
    return id
  }

  /** The names of the tools of an action, none of which is missing. */
  async tools(id: number): Promise<string[]> {
    const { state, tools, notes } = tested.parse(
      await this.#workspace.call('POST', `/rest/actions/${id}/test`),
    )
    deepStrictEqual([state, notes.filter((note) => !note.includes('runs as a task only'))], ['working', []])
    return tools.map(({ name }) => name)
  }

  /** Has the model call a tool; what the tool said. */
  async called(id: number, tool: string, args: object): Promise<string> {
    const { state, turns, reason } = await this.#trial(id, `${tool} ${JSON.stringify(args)}`, 'functionCall')
    deepStrictEqual([state, reason], ['done', undefined])
    const [made] = turns.flatMap(({ calls }) => calls)
    const said = made?.result?.text ?? ''
    deepStrictEqual([made?.tool, made?.result?.state], [tool, 'done'], `${tool} said ${said}`)
    return said
  }

  /** Returns the model's turn for a text of a person. */
  async said(id: number, text: string): Promise<Trial['turns'][number]> {
    const { state, turns, reason } = await this.#trial(id, text, 'chat')
    deepStrictEqual([state, reason], ['done', undefined])
    const last = turns.at(-1)
    ok(last)
    match(last.text, /\S/)
    return last
  }

  async giveCredentials(id: number, value: object): Promise<void> {
    const config = { name: 'credentials', owner: id, ownerType: 'action', value }
    await this.#workspace.call('PUT', `/rest/configs/credentials-${id}`, config)
  }

  /** Consent to an action's server, as somebody gives it in a browser. */
  async connect(id: number): Promise<void> {
    await this.giveCredentials(id, { oauth: { grant: 'authorization_code' } })
    const redirectUri = `${this.#url}/console/connected`
    const begun = await this.#workspace.call('POST', `/rest/actions/${id}/connect`, { redirectUri })
    const { authorizationUrl } = z.object({ authorizationUrl: z.string() }).parse(begun)
    const { state, code } = await agree(authorizationUrl)
    await this.#workspace.call('POST', `/rest/actions/${id}/connected`, { state, code })
  }

  async #trial(id: number, text: string, type: 'chat' | 'functionCall'): Promise<Trial> {
    const response = await fetch(`${this.#url}/rest/assistant/${id}/try`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#workspace.token}` },
      body: JSON.stringify({ type, tools: 'call', messages: [{ role: 'person', text }] }),
      signal: AbortSignal.timeout(TRIAL_MS),
    })
    return trial.parse(await response.json())
  }
}
