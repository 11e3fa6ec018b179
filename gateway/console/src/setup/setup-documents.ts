import { ParleyError } from '@parley/client/parley-error'
import type { ResourceName } from '@parley/shared/configuration-resources'
import { call, callTagged, listAll, type Page } from '../api.ts'
import { patchDocument } from '../resources.ts'
import { may } from '../rights.ts'
import type { SendWrite } from './apply-writes.ts'
import { idsIn, type Setup, type Stored } from './setup-form.ts'

/** The version of each document that was read. */
type Tags = Map<string, string | undefined>

/** The documents that make up an assistant, and their versions. */
export interface ReadSetup {
  setup: Setup
  tags: Tags
}

/** An action with its configs, and their versions. */
export interface ReadAction {
  action: Stored
  configs: readonly Stored[]
  tags: Tags
}

/** Of how many other documents it is known that they use something. */
const MOST_USERS = 20

const tagOf = (resource: string, id: number): string => `${resource}/${id}`

/** Reads an assistant and what it is made of, as far as the role may. Throws where there is no such assistant. */
export async function readSetup(id: number, signal: AbortSignal): Promise<ReadSetup> {
  const tags: Tags = new Map()
  const { read, readAll } = readerOf(tags, signal)
  const assistant = await read('assistant', id)
  const [job] = await readAll('jobs', numbers(assistant?.job))
  const [workflow] = await readAll('workflows', numbers(job?.defaultWorkflow))
  const [steps, actions] = await Promise.all([
    readAll('steps', idsIn(workflow, 'steps')),
    readAll('actions', idsIn(assistant, 'actions')),
  ])
  const owned = await Promise.all([
    ownedBy('assistant', id),
    ...actions.map(({ _id }) => ownedBy('action', _id)),
  ])
  const configs = await readAll('configs', [...new Set([...idsIn(assistant, 'configs'), ...owned.flat()])])
  return { setup: { assistant, job, workflow, steps, actions, configs }, tags }
}

/** Reads an action that an assistant is to have as well. */
export async function readAction(id: number, signal: AbortSignal): Promise<ReadAction> {
  const tags: Tags = new Map()
  const { read, readAll } = readerOf(tags, signal)
  const action = (await read('actions', id)) as Stored
  return { action, configs: await readAll('configs', await ownedBy('action', id)), tags }
}

/** Returns the other users of an assistant's job, workflow and actions: names by what they use, at most 20 of each. */
export async function readOtherUsers({ assistant, job, workflow, actions }: Setup): Promise<OtherUsers> {
  const others = async (resource: 'assistant' | 'jobs', field: string, of: Stored | undefined) => {
    if (of === undefined || !may('read', resource)) return []
    const query = { [field]: of._id, limit: MOST_USERS }
    const { data } = await call<Page<Stored>>('GET', `/rest/${resource}`, { query })
    const own = resource === 'jobs' ? job?._id : assistant?._id
    return data.filter(({ _id }) => _id !== own).map(({ _id, name, role }) => String(name || role || _id))
  }
  const [ofJob, ofWorkflow, ...ofActions] = await Promise.all([
    others('assistant', 'job', job),
    others('jobs', 'defaultWorkflow', workflow),
    ...actions.map((action) => others('assistant', 'actions', action)),
  ])
  return {
    job: ofJob ?? [],
    workflow: ofWorkflow ?? [],
    actions: new Map(actions.map(({ _id }, at) => [_id, ofActions[at] ?? []])),
  }
}

/** The names of what else uses parts of an assistant. */
interface OtherUsers {
  job: readonly string[]
  workflow: readonly string[]
  actions: ReadonlyMap<number, readonly string[]>
}

/** Reads documents, and notes their versions; what may not be read, or is gone, is left out. */
function readerOf(tags: Tags, signal: AbortSignal) {
  const read = async (resource: ResourceName, of: number): Promise<Stored | undefined> => {
    const { data, etag } = await callTagged<Stored>('GET', `/rest/${resource}/${of}`, { signal })
    tags.set(tagOf(resource, of), etag)
    return data
  }
  const readAll = async (resource: ResourceName, ids: readonly number[]): Promise<Stored[]> => {
    if (!may('read', resource)) return []
    const all = await Promise.all(ids.map((of) => read(resource, of).catch(undefinedWhereHidden)))
    return all.filter((one) => one !== undefined)
  }
  return { read, readAll }
}

const numbers = (id: unknown): number[] => (typeof id === 'number' ? [id] : [])

/** The ids of the configs of an owner; its type is written in the singular or the plural. */
async function ownedBy(type: 'assistant' | 'action', owner: number): Promise<number[]> {
  if (!may('read', 'configs')) return []
  const all = await listAll<Stored>('/rest/configs', { query: { owner } })
  return all.filter(({ ownerType }) => [type, `${type}s`].includes(String(ownerType))).map(({ _id }) => _id)
}

function undefinedWhereHidden(error: Error): undefined {
  if (!(error instanceof ParleyError && [403, 404].includes(error.status))) throw error
}

/** Makes a write by the operation that there is for it, over the version that was read. */
export const sendOver =
  (tags: Tags): SendWrite =>
  async (write) => {
    const { resource } = write
    if (write.kind === 'delete') {
      await call('DELETE', `/rest/${resource}/${write.id}`)
      return undefined
    }
    const { data, etag } =
      write.kind === 'create'
        ? await callTagged<Stored>('POST', `/rest/${resource}`, { body: write.body })
        : await patchDocument<Stored>(resource, String(write.id), {
            body: write.body,
            over: { data: undefined, etag: tags.get(tagOf(resource, write.id)) },
          })
    tags.set(tagOf(resource, data._id), etag)
    return data
  }
