import { ParleyError } from '@parley/client/parley-error'
import {
  COMPLAINT,
  CONVERSATIONS,
  FLORA,
  ordersAction,
  type SampleConversation,
  STEPS,
  SUPPORT,
  updateNo,
} from '@parley/shared/sample-shop'
import { call } from '../api.ts'
import { t } from '../language.ts'
import { me } from '../rights.ts'
import { simulatedChannel } from '../simulator.ts'
import { type Made, RECORD, sampleRecord } from './sample-record.ts'

const UPDATES = 12
const UPDATED_PEOPLE = 5
const TOGETHER = 4
const CHANNEL = 'sample-shop'
const THREAD_MS = 20_000
const THREAD_AGAIN_MS = 500

/**
 * Makes a shop with an assistant, its workflow and its tool, a channel on the simulator at `url`, and some thirty messages
 * of people with invented numbers. What was made until it fails is removed.
 */
export async function makeSample(url: string): Promise<Made> {
  const made: Made = { documents: [], phones: [], messages: 0 }
  try {
    await makeDocuments(url, made)
    await storeRecord(made)
    for (const [at, one] of CONVERSATIONS.entries()) await converse(one, phoneOf(at))
    for (let at = 0; at < UPDATES; at++)
      await post(updateFor(at, phoneOf(CONVERSATIONS.length + (at % UPDATED_PEOPLE))))
    return made
  } catch (error) {
    await removeSample(made).catch(() => undefined)
    throw error
  }
}

async function makeDocuments(url: string, made: Made): Promise<void> {
  const make = async (resource: string, body: object): Promise<number> => {
    const { _id } = await call<{ _id: number }>('POST', `/rest/${resource}`, { body })
    made.documents.push([resource, _id])
    return _id
  }
  const action = await make('actions', ordersAction(url))
  const steps: number[] = []
  // The next step of each has to exist first.
  for (const { next: _next, ...step } of STEPS) steps.push(await make('steps', { description: '', ...step }))
  for (const [at, { next, ...step }] of STEPS.entries()) {
    const body = { description: '', ...step, next: steps[(next ?? 0) - 1] }
    if (next !== undefined) await call('PUT', `/rest/steps/${steps[at]}`, { body })
  }
  const defaultWorkflow = await make('workflows', { ...COMPLAINT, steps, firstStep: steps[0] })
  const job = await make('jobs', { ...SUPPORT, actions: [action], defaultWorkflow })
  const assistantId = await make('assistant', { ...FLORA, job, actions: [action] })
  const channel = { name: t('Sample shop'), extId: CHANNEL, handlerUrl: 'native:agents/taskManager' }
  await make('channels', simulatedChannel(url, { ...channel, config: { assistantId } }))
}

/** Before anybody is written to: from here on it is known what there is to remove. */
async function storeRecord(made: Made): Promise<void> {
  const people = CONVERSATIONS.length + UPDATED_PEOPLE
  made.phones.push(...Array.from({ length: people }, (_, at) => phoneOf(at)))
  made.messages = UPDATES + CONVERSATIONS.reduce((sum, { exchanges }) => sum + exchanges.length, 0)
  const body = { name: RECORD, owner: me.get()?.workspace._id, ownerType: 'workspace', value: made }
  await call('POST', '/rest/configs', { body })
}

/** Nobody has a number of this range: it is for stories. */
const phoneOf = (at: number): string => `+120255501${String(at).padStart(2, '0')}`

function updateFor(at: number, phone: string): object {
  const message = updateNo(at, CHANNEL)
  return { ...message, user: { ...message.user, phone } }
}

/** Sends a person's messages, with the assistant's answers to them; a person without an answer waits for the team. */
async function converse({ person: name, exchanges }: SampleConversation, phone: string): Promise<void> {
  const thread = { extId: `sample-${phone.slice(1)}` }
  let isWithTeam = false
  for (const { said, responses } of exchanges) {
    const message = responses.findLast(({ text }) => text !== undefined)?.text
    if (message === undefined && !isWithTeam) {
      await giveToTeam(thread.extId)
      isWithTeam = true
    }
    const answer = message === undefined ? {} : { message }
    await post({ extId: CHANNEL, user: { name, phone }, thread, input: said, answer })
  }
}

/** The thread is there a moment after its first message. */
async function giveToTeam(extId: string): Promise<void> {
  const deadline = performance.now() + THREAD_MS
  for (;;) {
    try {
      const query = { channel: CHANNEL }
      await call('PATCH', `/rest/threads/${extId}`, { body: { handler: 'person' }, query })
      return
    } catch (error) {
      if (!isMissing(error) || performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, THREAD_AGAIN_MS))
    }
  }
}

/** Under a key, by which the client repeats it. */
async function post(body: object): Promise<void> {
  await call('POST', '/rest/messages', { body, headers: { 'idempotency-key': crypto.randomUUID() } })
}

/** Erases the people of the sample with all that they said, and deletes its documents; what is gone already is passed over. */
export async function removeSample({ documents, phones }: Made): Promise<void> {
  // First the channel, so that nothing comes anew; last the record, by which it can be begun again.
  const [channel, ...others] = documents.toReversed().map(pathOf)
  if (channel !== undefined) await remove(channel)
  for (let at = 0; at < phones.length; at += TOGETHER)
    await Promise.all(
      phones.slice(at, at + TOGETHER).map((one) => remove(`/rest/people/phone:${one.slice(1)}`)),
    )
  for (const path of others) await remove(path)
  const record = await sampleRecord()
  if (record !== undefined) await remove(`/rest/configs/${record._id}`)
}

/** Steps refer to one another; of all else it is refused while something of somebody's own refers to it. */
const pathOf = ([resource, id]: Made['documents'][number]): string =>
  `/rest/${resource}/${id}${resource === 'steps' ? '?force=true' : ''}`

const isMissing = (error: unknown): boolean => error instanceof ParleyError && error.status === 404

async function remove(path: string): Promise<void> {
  try {
    await call('DELETE', path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}
