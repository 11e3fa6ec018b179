import { isReplayFutile } from '@parley/shared/explain-message'
import { call, type Page } from '../api.ts'
import { Button, notify } from '../components/actions.tsx'
import { Card, Empty, Failure, Loading, State, Time } from '../components/basics.tsx'
import { count } from '../format.ts'
import { rich, t } from '../language.ts'
import { useLoad } from '../load.ts'
import { causeInWords, type MessageSummary, REPLAYABLE, waitInWords } from '../messages.ts'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'
import type { Waiting } from '../traffic.ts'
import { reasonOf } from '../words.ts'

const MOST_GROUPED = 1_000

const AT_ONCE = 4

interface Group {
  key: string
  state: string
  reason: string
  fault: string | null | undefined
  messages: MessageSummary[]
}

/** The messages that are dead, failed or unrouted, by reason; each group can be replayed. */
export function Attention() {
  const { data, error, reload } = useLoad('attention', attention, { everyMs: 5_000 })
  const replayAll = async ({ messages }: Group) => {
    const left = [...messages]
    let replayed = 0
    const replaySome = async () => {
      for (let one = left.pop(); one !== undefined; one = left.pop()) {
        await call('POST', `/rest/messages/${one._id}/replay`)
        replayed++
      }
    }
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, replaySome))
    } finally {
      reload()
    }
    notify(t('{count} run again.', { count: count(replayed) }))
  }
  return (
    <Card title={t('Needs attention')} note={t('The latest 200 of each state, by reason')}>
      {data === undefined && (error ? <Failure error={error} /> : <Loading />)}
      {data?.length === 0 && <Empty title={t('Nothing is dead, failed or unrouted')} />}
      <ul class="rows">
        {data?.map((group) => (
          <li key={group.key}>
            <div class="grow">
              <p class="line">
                <State of={group.state} />
                <strong>{count(group.messages.length)}</strong>
                <span>{group.reason}</span>
              </p>
              <p class="note">
                {causeInWords(group.fault) &&
                  `${t('Caused by {cause}.', { cause: causeInWords(group.fault) })} `}
                {rich('Last {time}. <a>Look at one<span> with {reason}</span></a>', {
                  time: <Time at={group.messages[0]?.receivedAt} relative />,
                  reason: group.reason,
                  span: (text) => <span class="hidden">{text}</span>,
                  a: (text) => <a href={hrefOf(`/messages/${group.messages[0]?._id}`)}>{text}</a>,
                })}
              </p>
            </div>
            {isReplayFutile(group) && <span class="note">{t('A replay would fail again')}</span>}
            {may('write', 'messages') && !isReplayFutile(group) && (
              <Button
                small
                label={t('Replay {count} with {reason}', {
                  count: count(group.messages.length),
                  reason: group.reason,
                })}
                onClick={() => replayAll(group)}
              >
                {t('Replay')}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  )
}

async function attention(signal: AbortSignal): Promise<Group[]> {
  const pages = await Promise.all(
    REPLAYABLE.map((state) =>
      call<Page<MessageSummary>>('GET', '/rest/messages', { query: { state, limit: 200 }, signal }),
    ),
  )
  const groups = new Map<string, Group>()
  for (const message of pages.flatMap(({ data }) => data)) {
    const { state, reason: given = t('no reason given'), fault } = message
    const reason = reasonOf(given)
    const key = `${state} ${reason} ${fault}`
    const group = groups.get(key) ?? { key, state, reason, fault, messages: [] }
    group.messages.push(message)
    groups.set(key, group)
  }
  return [...groups.values()].sort((a, b) => b.messages.length - a.messages.length)
}

/** The messages in flight by the condition that they wait for, and the time since which they wait. */
export function WaitingGroups({ waiting }: { waiting: Waiting }) {
  const { groups, messages, more } = waiting
  const note =
    more || messages > MOST_GROUPED ? t('Of the oldest {count}', { count: count(MOST_GROUPED) }) : undefined
  return (
    <Card title={t('What waits')} note={note}>
      {groups.length === 0 && <Empty title={t('Nothing waits')} />}
      <ul class="rows">
        {groups.map((group) => (
          <li key={group.for}>
            <div class="grow">
              <p class="line">
                <strong>{count(group.messages)}</strong>
                <span>{waitInWords(group.for)}</span>
              </p>
              <p class="note">
                {rich('Oldest in since {time}: {thread}', {
                  time: <Time at={group.oldest.receivedAt} relative />,
                  thread: <a href={hrefOf(`/messages/${group.oldest._id}`)}>{group.oldest.thread}</a>,
                })}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}
