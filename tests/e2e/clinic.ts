import { CLINIC_LINE, clinicDocuments } from '@parley/local/demo/assistant/clinic'
import { type Diary, startDiary } from '@parley/local/demo/assistant/run-assistant-demo'
import { registerWebhook, writeAsPerson } from '@parley/local/simulator/client'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { registerWorkspace, type Workspace } from '../lab/system/workspace.ts'

const ENDED = ['sent', 'delivered', 'read', 'done', 'failed', 'dead']

/** A workspace with the demo's clinic, and a person who writes to it. */
export interface Clinic extends Workspace {
  diary: Diary
  person: { phoneNumberId: string; from: string; name: string }
  /** Scripts the answers of the model, one after another; calls by name and arguments. */
  script(...responses: object[]): Promise<void>
  /** The person writes; resolves with the message, once it has its answer. */
  ask(text: string): Promise<Parsed>
  /** The same without waiting for it. */
  write(text: string): Promise<void>
  /** The message that came after so many others, once it has come to an end. */
  responded(before: number): Promise<Parsed>
  /** Returns the texts that the person got. */
  texts(): Promise<string[]>
  /** The requests that the model got, as it got them. */
  requests(): Promise<Parsed[]>
  close(): Promise<void>
}

/** A system with its simulators. */
interface Places {
  parley: { url: string }
  simulatorUrl: string
  modelSimulatorUrl: string
}

let clinics = 0

export async function openClinic(
  { parley, simulatorUrl, modelSimulatorUrl }: Places,
  namespace: string,
): Promise<Clinic> {
  const workspace = await registerWorkspace(parley.url, namespace)
  const diary = await startDiary()
  const phoneNumberId = `${1_000 + ++clinics}`
  const person = { phoneNumberId, from: `5511999${100_000 + clinics}`, name: 'Joana' }
  const number = { simulatorUrl, phoneNumberId, appSecret: 'secret' }
  for (const [resource, id, document] of clinicDocuments({ diaryUrl: diary.url, number }))
    await workspace.call('PUT', `/rest/${resource}/${id}`, document)
  await registerWebhook(number, workspace.providerUrl(CLINIC_LINE))
  const model = async (path: string, init?: RequestInit) =>
    (await fetch(new URL(`/simulator/${path}`, modelSimulatorUrl), init)).json()
  const messages = async () => ((await workspace.call('GET', '/rest/messages')) as Parsed).data as Parsed[]
  const clinic: Clinic = {
    ...workspace,
    diary,
    person,
    async script(...responses) {
      await model('requests', { method: 'DELETE' })
      const body = JSON.stringify({ responses })
      await model('script', { method: 'PUT', headers: { 'content-type': 'application/json' }, body })
    },
    write: async (text) => void (await writeAsPerson(number, { from: person.from, name: person.name, text })),
    async ask(text) {
      const before = (await messages()).length
      await clinic.write(text)
      return clinic.responded(before)
    },
    async responded(before) {
      const ended = await eventually(
        async () => {
          const found = await messages()
          return found.length > before && ENDED.includes(found[0].state) ? found[0] : undefined
        },
        { timeoutMs: 60_000 },
      )
      return workspace.call('GET', `/rest/messages/${ended._id}`)
    },
    async texts() {
      const response = await fetch(`${simulatorUrl}/simulator/sends?phoneNumberId=${phoneNumberId}`)
      return ((await response.json()) as Parsed).data.map((send: Parsed) => send.text)
    },
    async requests() {
      return ((await model('requests')) as Parsed).data.map(({ body }: Parsed) => body)
    },
    async close() {
      await clinic.script()
      await diary.close()
    },
  }
  return clinic
}
