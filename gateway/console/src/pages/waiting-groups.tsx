import { Card, Empty, Time } from '../components/basics.tsx'
import { count } from '../format.ts'
import { hrefOf } from '../router.ts'
import type { Waiting } from '../traffic.ts'

const MOST_GROUPED = 1_000

const REASONS: Record<string, string> = {
  retry: 'for their next try',
  rate: 'for the rate of their number',
  circuit_breaker: 'for an endpoint that does not answer',
  host: 'for other calls to the same host',
  status: 'for the status of an uncertain send',
  configuration: 'for a channel or an action',
  server: 'for a server that is unavailable',
  model: 'for a language model',
  gathering: 'for more of the same conversation',
  answer: 'for an answer that is on its way',
  turn: 'for the turn of the workspace',
  thread: 'for those before them in their conversation',
}

/** What is in flight waits for what, and since when. */
export function WaitingGroups({ waiting }: { waiting: Waiting }) {
  const { groups, messages, more } = waiting
  const note = more || messages > MOST_GROUPED ? `Of the oldest ${count(MOST_GROUPED)}` : undefined
  return (
    <Card title="What waits" note={note}>
      {groups.length === 0 && <Empty title="Nothing waits" />}
      <ul class="rows">
        {groups.map((group) => (
          <li key={group.for}>
            <div class="grow">
              <p class="line">
                <strong>{count(group.messages)}</strong>
                <span>{REASONS[group.for] ?? group.for.replaceAll('_', ' ')}</span>
              </p>
              <p class="note">
                Oldest in since <Time at={group.oldest.receivedAt} relative />:{' '}
                <a href={hrefOf(`/messages/${group.oldest._id}`)}>{group.oldest.thread}</a>
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}
