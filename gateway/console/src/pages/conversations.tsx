import { useEffect, useRef, useState } from 'preact/hooks'
import { call, type Page } from '../api.ts'
import type { PageProps } from '../app.tsx'
import { Button } from '../components/actions.tsx'
import { Badge, Empty, Failure, Loading, PageHead, State, Time } from '../components/basics.tsx'
import { AreaField, SelectField, TextField } from '../components/fields.tsx'
import { useRows } from '../components/keyboard.ts'
import { More, useList } from '../components/list.tsx'
import { relativeTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate, setQuery } from '../router.ts'

interface Thread {
  _id: string
  extId: string
  channel: string
  user?: { name?: string | null; phone?: string | null }
  handler: 'assistant' | 'person'
  lastMessage?: unknown
  lastAt: string
  unread: number
  serviceWindowEndsAt?: string | null
}

type ThreadMessage = Record<string, unknown> & { _id: string; state?: string }

/** The conversations of the workspace, and one of them. */
export function ConversationsPage({ rest: [id], query }: PageProps) {
  return (
    <>
      <PageHead title="Conversations" />
      <div class={id === undefined ? 'inbox' : 'inbox open'}>
        <ThreadList chosen={id} query={query} />
        {id === undefined ? (
          <div class="inbox-thread">
            <Empty title="No conversation is open">Choose one from the list; j and k move through it.</Empty>
          </div>
        ) : (
          <Conversation key={id} id={decodeURIComponent(id)} />
        )}
      </div>
    </>
  )
}

const nameOf = ({ user, extId }: Thread): string => user?.name || user?.phone || extId
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function ThreadList({ chosen, query }: { chosen: string | undefined; query: URLSearchParams }) {
  const [handler, q] = [query.get('handler') ?? '', query.get('q') ?? '']
  const list = useList<Thread>(
    '/rest/threads',
    { ...(handler ? { handler } : {}), ...(q ? { q } : {}) },
    { everyMs: 3_000 },
  )
  const hrefTo = ({ _id }: Thread) =>
    `/conversations/${encodeURIComponent(_id)}${query.size > 0 ? `?${query}` : ''}`
  const at = useRows({
    length: list.rows?.length ?? 0,
    open: (row) => {
      const thread = list.rows?.[row]
      if (thread) navigate(hrefTo(thread))
    },
  })
  return (
    <section class="inbox-list" aria-label="Threads">
      <search class="filters">
        <div data-search>
          <TextField
            label="Name or phone"
            type="search"
            value={q}
            onChange={(value) => setQuery({ q: value })}
          />
        </div>
        <SelectField
          label="Who has it"
          value={handler}
          onChange={(value) => setQuery({ handler: value })}
          options={[
            { value: '', name: 'Anybody' },
            { value: 'person', name: 'A person' },
            { value: 'assistant', name: 'The assistant' },
          ]}
        />
      </search>
      {list.rows === undefined && (list.error ? <Failure error={list.error} /> : <Loading />)}
      {list.rows?.length === 0 && <Empty title="No conversations">They appear here when people write.</Empty>}
      <ul class="threads">
        {list.rows?.map((thread, index) => (
          <li key={thread._id} data-row aria-current={index === at ? 'true' : undefined}>
            <a href={hrefOf(hrefTo(thread))} aria-current={thread._id === chosen ? 'page' : undefined}>
              <span class="line">
                <strong>{nameOf(thread)}</strong>
                {thread.unread > 0 && <Badge tone="info">{`${thread.unread} unread`}</Badge>}
                {thread.handler === 'person' && <Badge tone="warn">person</Badge>}
              </span>
              <span class="note cut">{textOf(thread.lastMessage)}</span>
              <Time at={thread.lastAt} relative />
            </a>
          </li>
        ))}
      </ul>
      <More list={list} />
    </section>
  )
}

function Conversation({ id }: { id: string }) {
  const path = `/rest/threads/${encodeURIComponent(id)}`
  const thread = useLoad(path, (signal) => call<Thread>('GET', path, { signal }), { everyMs: 2_000 })
  const said = useLoad(
    `${path}/messages`,
    (signal) => call<Page<ThreadMessage>>('GET', `${path}/messages`, { query: { limit: 200 }, signal }),
    { everyMs: 2_000 },
  )
  const end = useRef<HTMLDivElement>(null)
  const latest = said.data?.data.at(-1)?._id
  useEffect(() => end.current?.scrollIntoView({ block: 'nearest' }), [latest])
  const writable = may('write', 'threads')
  const change = async (body: object) => {
    await call('PATCH', path, { body })
    thread.reload()
  }
  const { data } = thread
  // Who looks at it has read it.
  useEffect(() => {
    if (writable && (data?.unread ?? 0) > 0) void change({ unread: 0 }).catch(() => undefined)
  }, [data?.unread])
  if (data === undefined)
    return <div class="inbox-thread">{thread.error ? <Failure error={thread.error} /> : <Loading />}</div>
  const taken = data.handler === 'person'
  return (
    <section class="inbox-thread" aria-label={`Conversation with ${nameOf(data)}`}>
      <div class="thread-head">
        <div class="grow">
          <a class="back" href={hrefOf('/conversations')}>
            ← Conversations
          </a>
          <h2>{nameOf(data)}</h2>
          <p class="note">
            {data.channel}
            {data.serviceWindowEndsAt && ` · free text until ${relativeTime(data.serviceWindowEndsAt)}`}
          </p>
        </div>
        {writable && (
          <Button onClick={() => change({ handler: taken ? 'assistant' : 'person' })}>
            {taken ? 'Give back' : 'Take over'}
          </Button>
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard */}
      <div class="bubbles scroll" tabIndex={0} role="log" aria-label="What was said">
        {said.data?.data.map((message) => (
          <Said key={message._id} message={message} />
        ))}
        <Failure error={said.error} />
        <div ref={end} />
      </div>
      {writable && <Reply path={path} onSent={said.reload} />}
    </section>
  )
}

function Said({ message }: { message: ThreadMessage }) {
  const ours = message.direction === 'outbound' || message.from === 'assistant' || message.from === 'person'
  const at = textOf(message.at) || textOf(message.receivedAt)
  return (
    <div class={`bubble ${ours ? 'ours' : 'theirs'}`}>
      <p>{textOf(message.text) || textOf(message.input) || textOf(message.message) || 'No text'}</p>
      <p class="note line">
        <a href={hrefOf(`/messages/${message._id}`)}>{at ? <Time at={at} /> : 'Message'}</a>
        {message.state && <State of={message.state} />}
      </p>
    </div>
  )
}

function Reply({ path, onSent }: { path: string; onSent(): void }) {
  const [text, setText] = useState('')
  const [error, setError] = useState<Error>()
  const key = useRef(crypto.randomUUID())
  const send = async (event: Event) => {
    event.preventDefault()
    try {
      setError(undefined)
      // The same key until it has arrived, so that a second try is no second reply.
      await call('POST', `${path}/messages`, { body: { text }, headers: { 'idempotency-key': key.current } })
      key.current = crypto.randomUUID()
      setText('')
      onSent()
    } catch (thrown) {
      setError(thrown as Error)
    }
  }
  return (
    <form class="reply" onSubmit={send}>
      <AreaField label="Reply" rows={2} value={text} onChange={setText} />
      <Failure error={error} />
      <Button type="submit" kind="primary" disabled={text.trim() === ''}>
        Send
      </Button>
    </form>
  )
}
