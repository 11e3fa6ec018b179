import type { ResourceName } from '@parley/shared/configuration-resources'
import { call, callTagged, listAll } from '../api.ts'
import { isGone } from '../problems.ts'
import { patchDocument } from '../resources.ts'
import { may } from '../rights.ts'
import type { SendWrite } from './apply-writes.ts'
import { idsIn, type Setup, type Stored } from './setup-form.ts'

/** What an assistant is made of, and the version of each document that was read. */
export interface ReadSetup {
  setup: Setup
  tags: Map<string, string | undefined>
}

const tagOf = (resource: string, id: number): string => `${resource}/${id}`

/** Reads an assistant and what it is made of, as far as the role may. Throws where there is no such assistant. */
export async function readSetup(id: number, signal: AbortSignal): Promise<ReadSetup> {
  const tags: ReadSetup['tags'] = new Map()
  const read = async (resource: ResourceName, of: unknown): Promise<Stored | undefined> => {
    if (typeof of !== 'number' || !may('read', resource)) return undefined
    const { data, etag } = await callTagged<Stored>('GET', `/rest/${resource}/${of}`, { signal })
    tags.set(tagOf(resource, of), etag)
    return data
  }
  const readAll = async (resource: ResourceName, ids: readonly number[]): Promise<Stored[]> => {
    const all = await Promise.all(ids.map((of) => read(resource, of).catch(undefinedWhereGone)))
    return all.filter((one) => one !== undefined)
  }
  const assistant = await read('assistant', id)
  const [job] = await readAll('jobs', numbers(assistant?.job))
  const [workflow] = await readAll('workflows', numbers(job?.defaultWorkflow))
  const [steps, actions] = await Promise.all([
    readAll('steps', idsIn(workflow, 'steps')),
    readAll('actions', idsIn(assistant, 'actions')),
  ])
  const owned = may('read', 'configs') ? await listAll<Stored>('/rest/configs', { query: {} }) : []
  const owners = new Set(actions.map(({ _id }) => _id))
  const isOwn = ({ _id, owner, ownerType }: Stored) =>
    /^assistants?$/.test(String(ownerType))
      ? owner === id
      : /^actions?$/.test(String(ownerType))
        ? owners.has(owner as number)
        : idsIn(assistant, 'configs').includes(_id)
  const ids = owned.filter(isOwn).map(({ _id }) => _id)
  const configs = await readAll('configs', [...new Set([...ids, ...idsIn(assistant, 'configs')])])
  return { setup: { assistant, job, workflow, steps, actions, configs }, tags }
}

const numbers = (id: unknown): number[] => (typeof id === 'number' ? [id] : [])

function undefinedWhereGone(error: Error): undefined {
  if (!isGone(error)) throw error
}

/** Makes a write by the operation that there is for it, over the version that was read. */
export const sendOver =
  (tags: ReadSetup['tags']): SendWrite =>
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
