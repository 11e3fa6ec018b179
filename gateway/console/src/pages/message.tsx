import { canBeSegment } from '@parley/shared/path-segment'
import { providerOfSource } from '@parley/shared/providers/registry'
import { call } from '../api.ts'
import { Button, notify } from '../components/actions.tsx'
import { Card, Empty, Fact, Failure, Json, Loading, PageHead, State, Time } from '../components/basics.tsx'
import { ScrollRegion } from '../components/scroll-region.tsx'
import { Turns } from '../components/turns.tsx'
import { useLoad } from '../load.ts'
import { adviceOn, causeInWords, costOf, type MessageDetail, REPLAYABLE, type Turn } from '../messages.ts'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { Audio } from './bubbles.tsx'

/** One message with all that happened to it. */
export function MessagePage({ id }: { id: string }) {
  const path = `/rest/messages/${encodeURIComponent(id)}`
  const { data, error, reload } = useLoad(path, (signal) => call<MessageDetail>('GET', path, { signal }), {
    everyMs: 2_000,
    live: ({ event, data: { _id } }) => event === 'state' && _id === id,
  })
  const back = { href: hrefOf('/messages'), label: 'Messages' }
  if (data === undefined)
    return (
      <>
        <PageHead title="Message" back={back} />
        {error ? <Failure error={error} /> : <Loading />}
      </>
    )
  const replay = async () => {
    await call('POST', `${path}/replay`)
    notify('It is run again.')
    reload()
  }
  return (
    <>
      <PageHead title="Message" back={back} note={<code>{data._id}</code>}>
        {REPLAYABLE.includes(data.state) && may('write', 'messages') && (
          <Button kind="primary" onClick={replay}>
            Replay
          </Button>
        )}
      </PageHead>
      <Facts message={data} />
      <Content message={data} />
      <div class="columns">
        <Timeline message={data} />
        <Sends message={data} />
      </div>
      <Attempts message={data} />
      {data.turns && data.turns.length > 0 && <TurnsCard turns={data.turns} />}
      <Card>
        <Json title="All of it as JSON" value={data} />
      </Card>
    </>
  )
}

function Facts({ message }: { message: MessageDetail }) {
  const { user } = message.message
  return (
    <Card>
      <dl class="facts">
        <Fact term="State">
          <State of={message.state} />
        </Fact>
        {message.reason && <Fact term="Reason">{message.reason}</Fact>}
        {causeInWords(message.fault) && <Fact term="Caused by">{causeInWords(message.fault)}</Fact>}
        {adviceOn(message) && <Fact term="What to do">{adviceOn(message)}</Fact>}
        {message.waitingFor && <Fact term="Waits for">{message.waitingFor.replaceAll('_', ' ')}</Fact>}
        {message.due && (
          <Fact term="Tried again">
            <Time at={message.due} relative />
          </Fact>
        )}
        <Fact term="Received">
          <Time at={message.receivedAt} />
        </Fact>
        <Fact term="Channel">
          {message.channelId === undefined || !may('read', 'channels') ? (
            message.channel
          ) : (
            <a href={hrefOf(`/channels/${message.channelId}`)}>{message.channel}</a>
          )}
        </Fact>
        <Fact term="Thread">
          <ThreadLink message={message} />
        </Fact>
        {user?.name && <Fact term="Person">{user.name}</Fact>}
        {user?.phone && <Fact term="Phone">{user.phone}</Fact>}
        <Fact term="Came by">{providerOfSource(message.source)?.description.label ?? 'API'}</Fact>
        {message.requestId && (
          <Fact term="Request">
            <code>{message.requestId}</code>
          </Fact>
        )}
      </dl>
    </Card>
  )
}

/** To the conversation; for who may not read that, or where no path can name it, to the messages of the thread. */
const ThreadLink = ({ message: { thread, channel } }: { message: MessageDetail }) => {
  const name = encodeURIComponent(thread)
  const href =
    may('read', 'threads') && canBeSegment(thread)
      ? `/conversations/${name}?channel=${encodeURIComponent(channel)}`
      : `/messages?thread=${name}`
  return <a href={hrefOf(href)}>{thread}</a>
}

function Content({ message }: { message: MessageDetail }) {
  const { input, audio, answer } = message.message
  const reply = message.answer?.message ?? answer?.message
  if (!input && !audio && !reply) return null
  return (
    <Card title="What was said">
      <div class="bubbles">
        {(input || audio) && (
          <div class="bubble theirs">
            {input && <p>{input}</p>}
            {audio && <Audio id={message._id} />}
            {message.transcript && <p>{message.transcript}</p>}
          </div>
        )}
        {reply && <p class="bubble ours">{reply}</p>}
      </div>
    </Card>
  )
}

const Timeline = ({ message }: { message: MessageDetail }) => (
  <Card title="Timeline">
    <ol class="timeline">
      {message.timeline.map(({ at, state, reason }, index) => (
        <li key={`${at} ${state} ${index}`}>
          <State of={state} />
          <Time at={at} />
          {reason && <span class="quiet">{reason}</span>}
        </li>
      ))}
    </ol>
  </Card>
)

const Sends = ({ message }: { message: MessageDetail }) => (
  <Card title="Sends" note="What leaves for the person or an action">
    {message.sends.length === 0 && <Empty title="Nothing leaves for this message" />}
    <ul class="rows">
      {message.sends.map((send) => (
        <li key={send.id}>
          <div class="grow">
            <p class="line">
              <State of={send.state} /> {send.content.kind}
            </p>
            {send.providerId && (
              <p class="note">
                <code>{send.providerId}</code>
              </p>
            )}
            <Json title="Content" value={send.content} />
          </div>
        </li>
      ))}
    </ul>
  </Card>
)

const Attempts = ({ message }: { message: MessageDetail }) => (
  <Card title="Attempts" flush>
    {message.attempts.length === 0 ? (
      <Empty title="None yet" />
    ) : (
      <ScrollRegion class="table-box">
        <table aria-label="Attempts">
          <thead>
            <tr>
              {['At', 'Step', 'Outcome', 'Code', 'Took'].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {message.attempts.map(({ at, step, outcome, code, ms }, index) => (
              <tr key={`${at} ${index}`}>
                <td>
                  <Time at={at} />
                </td>
                <td>{step.replace(`${message._id}:`, 'send ')}</td>
                <td>
                  <State of={outcome} />
                </td>
                <td>{code && <code>{code}</code>}</td>
                <td>{Math.round(ms)} ms</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    )}
  </Card>
)

const TurnsCard = ({ turns }: { turns: readonly Turn[] }) => (
  <Card title="Turns" note={costOf(turns)}>
    <div class="bubbles">
      <Turns turns={turns} />
    </div>
  </Card>
)
