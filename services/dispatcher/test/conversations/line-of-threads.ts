import { eventually } from '@parley/local/testing/service-under-test'
import { rpcLine, text } from '../rpc-line.ts'

export interface SeenThread {
  _id: string
  extId: string
  channel: string
  user: { name?: string; phone?: string }
  handler: string
  lastMessage: string
  lastAt: string
  unread: number
  serviceWindowEndsAt: string | null
  task?: { status: string } | null
}

interface SeenEntry {
  _id: string
  message: string
  from: string
  text?: string
  state: string
  by?: { name: string }
  template?: string
  whatsapp?: object
}

/** Returns a message of a person: it carries no answer. */
export const said = (
  input: string,
  thread: string,
  user: Record<string, string> = { phone: '+55 11 99999-0000' },
) => ({
  ...text('', thread),
  user,
  input,
  answer: {},
})

/** As {@link rpcLine}, whose channel echoes, with what tests of threads ask. */
export function lineOfThreads() {
  const line = rpcLine()
  const list = async (query = ''): Promise<{ data: SeenThread[]; next: string | null }> => {
    const { status, json } = await line.world.get(`/rest/threads${query}`)
    if (status !== 200) throw new Error(JSON.stringify(json))
    return json as { data: SeenThread[]; next: string | null }
  }
  return {
    get world() {
      return line.world
    },
    get endpoint() {
      return line.endpoint
    },
    rpc: line.rpc,
    list,
    /** Waits until the list says of a thread what is asked for. */
    listed: (query: string, isSo: (threads: SeenThread[]) => boolean) =>
      eventually(async () => {
        const { data } = await list(query)
        return isSo(data) ? data : undefined
      }),
    async read(id: string): Promise<SeenThread> {
      const { status, json } = await line.world.get(`/rest/threads/${id}`)
      if (status !== 200) throw new Error(JSON.stringify(json))
      return json as SeenThread
    },
    async conversation(id: string, query = '') {
      const { status, json } = await line.world.get(`/rest/threads/${id}/messages${query}`)
      if (status !== 200) throw new Error(JSON.stringify(json))
      return json as { data: SeenEntry[]; previous: string | null; next: string | null }
    },
    async change(id: string, change: object): Promise<SeenThread> {
      const { status, json } = await line.world.call('PATCH', `/rest/threads/${id}`, change)
      if (status !== 200) throw new Error(JSON.stringify(json))
      return json as SeenThread
    },
    reply: (id: string, reply: object, headers: Record<string, string> = {}) =>
      line.world.call('POST', `/rest/threads/${id}/messages`, reply, headers),
  }
}
