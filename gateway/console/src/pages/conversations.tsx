import { useRef, useState } from 'preact/hooks'
import { Badge, Empty, Failure, Loading, PageHead, Time } from '../components/basics.tsx'
import { SelectField } from '../components/fields.tsx'
import { useRows } from '../components/keyboard.ts'
import { More, useList } from '../components/list.tsx'
import { useDrafts } from '../drafts.ts'
import { count } from '../format.ts'
import { useLoad } from '../load.ts'
import { channelNames } from '../resources.ts'
import { hrefOf, type PageProps, setQuery } from '../router.ts'
import { initialsOf, nameOf, shownLast, type Thread } from '../threads.ts'
import { ConversationPane } from './conversation.tsx'
import type { Draft } from './reply-box.tsx'

const VIEWS = [
  { name: 'All', query: {} },
  { name: 'Unread', query: { unread: 'true' } },
  { name: 'With the team', query: { handler: 'person' } },
] as const
const TYPING_MS = 350

/** The conversations with people, and the one that is open beside them. */
export function ConversationsPage({ rest: [id], query }: PageProps) {
  const channel = query.get('channel') ?? undefined
  return (
    <div class={id === undefined ? 'inbox' : 'inbox open'}>
      <div class="inbox-list">
        <ThreadList query={query} current={id && decodeURIComponent(id)} />
      </div>
      <div class="inbox-thread">
        {id === undefined ? (
          <Empty title="No conversation is open">Choose one to read it.</Empty>
        ) : (
          <ConversationPane key={`${id} ${channel}`} id={decodeURIComponent(id)} channel={channel} />
        )}
      </div>
    </div>
  )
}

const FILTERS = ['q', 'unread', 'handler', 'channel'] as const

function ThreadList({ query, current }: { query: URLSearchParams; current: string | undefined }) {
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? undefined]))
  const list = useList<Thread>('/rest/threads', filter, {
    everyMs: 4_000,
    live: ({ event }) => event === 'thread' || event === 'message',
  })
  const draftOf = useDrafts<Draft>()
  const chosen = new URLSearchParams(
    Object.entries(filter).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  )
  const pathOf = ({ _id }: Thread) => `/conversations/${_id}${chosen.size === 0 ? '' : `?${chosen}`}`
  const at = useRows({ length: list.rows?.length ?? 0 })
  return (
    <>
      <PageHead title="Conversations" isPart={current !== undefined} />
      <Filters query={query} />
      {list.rows === undefined && (list.error ? <Failure error={list.error} /> : <Loading lines={6} />)}
      {list.rows?.length === 0 &&
        (chosen.size > 0 ? (
          <Empty title="None match" />
        ) : (
          <Empty title="No conversations yet">They appear here when people write.</Empty>
        ))}
      <ul class="threads">
        {list.rows?.map((thread, row) => (
          <li key={thread._id} data-row>
            <a
              href={hrefOf(pathOf(thread))}
              class={row === at ? 'at' : undefined}
              aria-current={isAt(thread, current) ? 'true' : undefined}
            >
              <span class="round" aria-hidden="true">
                {initialsOf(nameOf(thread))}
              </span>
              <span class="grow">
                <span class="thread-head">
                  <strong class="thread-name">{nameOf(thread)}</strong>
                  <span class="note">
                    <Time at={thread.lastAt} relative />
                  </span>
                </span>
                <span class="thread-last">
                  <LastSaid thread={thread} draft={draftOf(thread._id)} />
                  {thread.unread > 0 && (
                    <span class="unread">
                      {count(thread.unread)}
                      <span class="hidden"> unread</span>
                    </span>
                  )}
                </span>
                {thread.unreadFor?.why === 'unanswered' && (
                  <>
                    <Badge tone="bad">no answer</Badge> <span class="note">{thread.unreadFor.reason}</span>
                  </>
                )}
                {thread.handler === 'person' && <Badge tone="warn">with the team</Badge>}
              </span>
            </a>
          </li>
        ))}
      </ul>
      <More list={list} />
    </>
  )
}

/** What somebody has begun to write, or what was said last. */
const LastSaid = ({ thread, draft }: { thread: Thread; draft: Draft | undefined }) =>
  draft?.text ? (
    <span class="quiet">
      <em>Draft:</em> {draft.text}
    </span>
  ) : (
    <span class="quiet">{shownLast(thread.lastMessage) || '–'}</span>
  )

const isAt = ({ _id, extId }: Thread, current: string | undefined): boolean =>
  current === _id || current === extId

function Filters({ query }: { query: URLSearchParams }) {
  const [text, setText] = useState(query.get('q') ?? '')
  const { data: channels = [] } = useLoad('channel names', channelNames)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const search = (value: string) => {
    setText(value)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setQuery({ q: value.trim() }), TYPING_MS)
  }
  const isChosen = (view: (typeof VIEWS)[number]['query']) =>
    (query.get('unread') ?? undefined) === ('unread' in view ? view.unread : undefined) &&
    (query.get('handler') ?? undefined) === ('handler' in view ? view.handler : undefined)
  const channel = query.get('channel') ?? ''
  return (
    <search class="inbox-filters">
      <div data-search>
        <input
          type="search"
          aria-label="Search by name or phone"
          placeholder="Name or phone ( / )"
          value={text}
          onInput={(event) => search(event.currentTarget.value)}
        />
      </div>
      <div class="segments">
        {VIEWS.map(({ name, query: view }) => (
          <button
            key={name}
            type="button"
            aria-pressed={isChosen(view)}
            onClick={() => setQuery({ unread: undefined, handler: undefined, ...view })}
          >
            {name}
          </button>
        ))}
      </div>
      {(channels.length > 1 || channel !== '') && (
        <SelectField
          label="Channel"
          value={channel}
          options={[
            { value: '', name: 'All' },
            ...[...new Set([...channels, ...(channel === '' ? [] : [channel])])].map((value) => ({
              value,
              name: value,
            })),
          ]}
          onChange={(value) => setQuery({ channel: value })}
        />
      )}
    </search>
  )
}
