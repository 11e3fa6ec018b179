import type { Schemas } from '@parley/client'
import { Component } from 'preact'
import { call } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Badge, Empty, Failure, Loading, PageHead, Time } from '../components/basics.tsx'
import { useRows } from '../components/keyboard.ts'
import { lazyPage } from '../components/lazy-page.tsx'
import { type Listed, More, useList } from '../components/list.tsx'
import { byPath } from '../components/screens.tsx'
import { useDrafts } from '../drafts.ts'
import { count } from '../format.ts'
import { rich, t } from '../language.ts'
import { useLoad } from '../load.ts'
import type { Draft } from '../replies.ts'
import { may } from '../rights.ts'
import { hrefOf, type PageProps } from '../router.ts'
import { useStore } from '../store.ts'
import { teamNameOf, teams } from '../teams.ts'
import { initialsOf, nameOf, shownLast, type Thread } from '../threads.ts'
import { reasonOf } from '../words.ts'
import { ConversationPane } from './conversation.tsx'
import { chosenFilters, Filters, listQuery } from './conversation-filters.tsx'
import { useSelection } from './conversation-selection.ts'

const BulkBar = lazyPage(async () => (await import('./audience-pages.ts')).audiencePages.bulk)

/** The conversations with people, and the one that is open beside them. */
export const ConversationsPage = byPath('/conversations', { '': Inbox, ':id': Inbox })

function Inbox({ rest: [id], query }: PageProps) {
  const channel = query.get('channel') ?? undefined
  const message = query.get('message') ?? undefined
  return (
    <div class={id === undefined ? 'inbox' : 'inbox open'}>
      <div class="inbox-list">
        <ThreadList query={query} current={id && decodeURIComponent(id)} />
      </div>
      <div class="inbox-thread">
        {id === undefined ? (
          <Empty title={t('No conversation is open')}>{t('Choose one to read it.')}</Empty>
        ) : (
          <ConversationPane
            key={`${id} ${channel} ${message}`}
            id={decodeURIComponent(id)}
            {...{ channel, message }}
          />
        )}
      </div>
    </div>
  )
}

function ThreadList({ query, current }: { query: URLSearchParams; current: string | undefined }) {
  // Whose the teams are is a part of the query.
  useStore(teams)
  const list = useList<Thread>('/rest/threads', listQuery(query), {
    everyMs: 4_000,
    live: ({ event }) => event === 'thread',
  })
  const drafts = useDrafts<Draft>()
  const chosen = chosenFilters(query)
  const pathOf = ({ _id, found }: Thread) => {
    const query = new URLSearchParams([...chosen, ...(found ? [['message', found.message]] : [])])
    return `/conversations/${_id}${query.size === 0 ? '' : `?${query}`}`
  }
  const rows = list.rows ?? []
  const at = useRows({ length: rows.length })
  const selection = useSelection(rows, at)
  return (
    <>
      <PageHead title={t('Conversations')} isPart={current !== undefined}>
        {may('write', 'threads') && !selection.isOn && rows.length > 0 && (
          <Button small onClick={selection.begin}>
            {t('Select')}
          </Button>
        )}
      </PageHead>
      <Filters query={query} />
      {list.rows && list.rows.length > 0 && <Total list={list} query={query} />}
      {selection.isOn && <BulkBar {...{ selection, rows }} reload={list.reload} />}
      {list.rows === undefined && (list.error ? <Failure error={list.error} /> : <Loading lines={6} />)}
      {list.rows?.length === 0 &&
        (chosen.size > 0 ? (
          <Empty title={t('None match')} />
        ) : (
          <Empty title={t('No conversations yet')}>{t('They appear here when people write.')}</Empty>
        ))}
      <ul class="threads">
        {list.rows?.map((thread, row) => (
          <li key={thread._id} data-row class={selection.isOn ? 'selectable' : undefined}>
            {selection.isOn && (
              <input
                type="checkbox"
                aria-label={t('Select {name}', { name: nameOf(thread) })}
                checked={selection.has(thread)}
                onClick={(event) => selection.toggle(thread, { isRange: event.shiftKey })}
              />
            )}
            <ThreadLink
              thread={thread}
              href={hrefOf(pathOf(thread))}
              draft={drafts.get(thread._id)?.text}
              isAt={row === at}
              isOpen={isOpen(thread, current)}
            />
          </li>
        ))}
      </ul>
      <More list={list} isEndless />
    </>
  )
}

interface TotalProps {
  list: Pick<Listed<Thread>, 'rows' | 'next'>
  query: URLSearchParams
}

/** How many conversations there are; of those that a search finds only where all are shown. */
function Total({ list: { rows = [], next }, query }: TotalProps) {
  const filter = listQuery(query)
  const isAsked = next !== null && !filter.q
  const { data } = useLoad(
    isAsked ? `total ${JSON.stringify(filter)}` : '',
    async (signal) => {
      if (!isAsked) return undefined
      const query = { ...filter, total: 'true', limit: 1 }
      return (await call<Schemas['ThreadPage']>('GET', '/rest/threads', { query, signal })).total
    },
    { everyMs: 30_000 },
  )
  const total = next === null ? { count: rows.length, isMore: false } : data
  if (total === undefined) return null
  return (
    <p class="note total">
      {total.isMore
        ? t('More than {count} conversations', { count: count(total.count) })
        : t('{count, plural, one {# conversation} other {# conversations}}', { count: total.count })}
    </p>
  )
}

interface LinkProps {
  thread: Thread
  href: string
  /** The text that the user has begun to write. */
  draft: string | undefined
  /** The keys have come to it. */
  isAt: boolean
  isOpen: boolean
}

/**
 * Drawn again only where something of it is new: the list is loaded again every second. An element that `useMemo` remembers
 * would keep the list that it was first drawn in, and all rows that have left it since.
 */
class ThreadLink extends Component<LinkProps> {
  override shouldComponentUpdate(next: LinkProps): boolean {
    return JSON.stringify(next) !== JSON.stringify(this.props)
  }

  override render({ thread, href, draft, isAt, isOpen }: LinkProps) {
    return (
      <a href={href} class={isAt ? 'at' : undefined} aria-current={isOpen ? 'true' : undefined}>
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
            <LastSaid thread={thread} draft={draft} />
            {thread.unread > 0 && (
              <span class="unread">
                {count(thread.unread)}
                <span class="hidden"> {t('unread')}</span>
              </span>
            )}
          </span>
          {thread.unreadFor?.why === 'unanswered' && (
            <>
              <Badge tone="bad">{t('no answer')}</Badge>{' '}
              <span class="note">{reasonOf(thread.unreadFor.reason ?? '')}</span>
            </>
          )}
          <Marks thread={thread} />
        </span>
      </a>
    )
  }
}

/** The marks of a conversation: its handler, its assignee or team, its status and its labels. */
const Marks = ({
  thread: { handler, assignee, team, labels = [], status, snoozedUntil },
}: {
  thread: Thread
}) => (
  <span class="marks">
    {handler === 'person' && (
      <Badge tone="warn">
        {assignee === undefined ? t('with the team') : t('with {name}', { name: assignee.name })}
      </Badge>
    )}
    {handler === 'assistant' && assignee && <Badge tone="neutral">{assignee.name}</Badge>}
    {team && <Badge tone="neutral">{teamNameOf(team)}</Badge>}
    {status === 'resolved' && <Badge tone="good">{t('resolved')}</Badge>}
    {status === 'snoozed' && snoozedUntil && (
      <Badge tone="neutral">{rich('until {time}', { time: <Time at={snoozedUntil} /> })}</Badge>
    )}
    {labels.map((label) => (
      <span key={label} class="tag">
        {label}
      </span>
    ))}
  </span>
)

/** The text that a search found, the draft that the user has begun, or the last message. */
const LastSaid = ({ thread, draft }: { thread: Thread; draft: string | undefined }) =>
  thread.found ? (
    <span class="quiet">{thread.found.text}</span>
  ) : draft ? (
    <span class="quiet">
      <em>{t('Draft:')}</em> {draft}
    </span>
  ) : (
    <span class="quiet">{shownLast(thread.lastMessage) || '–'}</span>
  )

const isOpen = ({ _id, extId }: Thread, current: string | undefined): boolean =>
  current === _id || current === extId
