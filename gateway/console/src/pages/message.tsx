import { type Explanation, explainMessage } from '@parley/shared/explain-message'
import { canBeSegment } from '@parley/shared/path-segment'
import { providerOfSource } from '@parley/shared/providers/registry'
import { call, type Page } from '../api.ts'
import { Button, notify } from '../components/actions.tsx'
import { Card, Empty, Fact, Failure, Json, Loading, PageHead, State, Time } from '../components/basics.tsx'
import { ScrollRegion } from '../components/scroll-region.tsx'
import { Turns } from '../components/turns.tsx'
import { count } from '../format.ts'
import { t, translated } from '../language.ts'
import { useLoad } from '../load.ts'
import { costOf, type MessageDetail, REPLAYABLE, type Turn } from '../messages.ts'
import type { Document } from '../resources.ts'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { wordOf } from '../words.ts'
import { Audio } from './bubbles.tsx'

/** One message with all that happened to it. */
export function MessagePage({ id }: { id: string }) {
  const path = `/rest/messages/${encodeURIComponent(id)}`
  const { data, error, reload } = useLoad(path, (signal) => call<MessageDetail>('GET', path, { signal }), {
    everyMs: 2_000,
    live: ({ event, data: { _id } }) => event === 'state' && _id === id,
  })
  const back = { href: hrefOf('/messages'), label: t('Messages') }
  const { data: around = {} } = useLoad(
    `around ${path} ${data?.state} ${data?.waiting?.message}`,
    (signal) => (data === undefined ? Promise.resolve({}) : surroundingsOf(data, signal)),
  )
  if (data === undefined)
    return (
      <>
        <PageHead title={t('Message')} back={back} />
        {error ? <Failure error={error} /> : <Loading />}
      </>
    )
  const message = inViewersLanguage(data)
  const explained = explainMessage(message, { now: new Date(), means: MEANS, say: t, ...around })
  const replay = async () => {
    await call('POST', `${path}/replay`)
    notify(t('It is run again.'))
    reload()
  }
  return (
    <>
      <PageHead title={t('Message')} back={back} note={<code>{data._id}</code>}>
        {REPLAYABLE.includes(data.state) && !explained.isReplayFutile && may('write', 'messages') && (
          <Button kind="primary" onClick={replay}>
            {t('Replay')}
          </Button>
        )}
      </PageHead>
      <Why explained={explained} message={message} />
      <Facts message={data} />
      <Content message={data} />
      <div class="columns">
        <Happened events={explained.events} />
        <Sends message={message} />
      </div>
      <Attempts message={message} />
      {data.turns && data.turns.length > 0 && <TurnsCard turns={data.turns} />}
      <Card>
        <Json title={t('All of it as JSON')} value={data} />
      </Card>
    </>
  )
}

/** The message with the reasons that Parley words in the viewer's language. */
function inViewersLanguage(message: MessageDetail): MessageDetail {
  const { reason, timeline, attempts, sends, waiting } = message
  return {
    ...{ ...message, ...(reason && { reason: translated(reason) }) },
    timeline: timeline.map((one) => ({ ...one, ...(one.reason && { reason: translated(one.reason) }) })),
    attempts: attempts.map((one) => ({ ...one, ...(one.error && { error: translated(one.error) }) })),
    sends: sends.map(({ failure, ...send }) => ({
      ...{ ...send, ...(failure && { failure: { ...failure, reason: translated(failure.reason) } }) },
    })),
    ...(waiting && { waiting: { ...waiting, ...(waiting.error && { error: translated(waiting.error) }) } }),
  }
}

/** Where it stands, why, whose part it is, and what to do. */
function Why({ explained, message }: { explained: Explanation; message: MessageDetail }) {
  const { verdict, waits, fault, advice } = explained
  return (
    <Card>
      <p class="line">
        <State of={message.state} /> <strong>{verdict}</strong>
      </p>
      {(waits || fault || advice.length > 0) && (
        <dl class="why">
          {waits && <Fact term={t('Waits')}>{waits}</Fact>}
          {fault && <Fact term={t('Caused by')}>{fault}</Fact>}
          {advice.length > 0 && (
            <Fact term={t('What to do')}>
              {advice.map((sentence) => (
                <p key={sentence}>{sentence}</p>
              ))}
            </Fact>
          )}
        </dl>
      )}
    </Card>
  )
}

/** How one does here what is advised. */
const MEANS = {
  replay: t('replay it.'),
  look: (id: string) => t('Look at {id}.', { id }),
  check: t('the problems on the overview'),
  doctor: t('parley doctor on the command line'),
}

/** Returns data besides the message, as the role may read it; without it the message explains itself. */
async function surroundingsOf({ state, channel, waiting }: MessageDetail, signal: AbortSignal) {
  if (REPLAYABLE.includes(state)) {
    if (!may('read', 'channels')) return {}
    const query = { extId: channel, limit: 1 }
    const { data } = await call<Page<Document>>('GET', '/rest/channels', { query, signal })
    return { channelExists: data.length > 0, provider: data[0]?.callback as string | undefined }
  }
  if (waiting?.message === undefined) return {}
  const before = await call<MessageDetail>('GET', `/rest/messages/${waiting.message}`, { signal })
  return { before }
}

function Facts({ message }: { message: MessageDetail }) {
  const { user } = message.message
  return (
    <Card>
      <dl class="facts">
        {message.due && (
          <Fact term={t('Tried again')}>
            <Time at={message.due} relative />
          </Fact>
        )}
        <Fact term={t('Received')}>
          <Time at={message.receivedAt} />
        </Fact>
        <Fact term={t('Channel')}>
          {message.channelId === undefined || !may('read', 'channels') ? (
            message.channel
          ) : (
            <a href={hrefOf(`/channels/${message.channelId}`)}>{message.channel}</a>
          )}
        </Fact>
        <Fact term={t('Thread')}>
          <ThreadLink message={message} />
        </Fact>
        {user?.name && <Fact term={t('Person')}>{user.name}</Fact>}
        {user?.phone && <Fact term={t('Phone')}>{user.phone}</Fact>}
        <Fact term={t('Came by')}>{providerOfSource(message.source)?.description.label ?? t('API')}</Fact>
        {message.requestId && (
          <Fact term={t('Request')}>
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
    <Card title={t('What was said')}>
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

/** The events of a message from the first on, in everyday words. */
const Happened = ({ events }: Pick<Explanation, 'events'>) => (
  <Card title={t('Timeline')}>
    <ol class="timeline">
      {events.map(({ at, text, code, isTrouble }, index) => (
        <li key={`${at} ${index}`} class={isTrouble ? 'wrong' : undefined}>
          <Time at={at} />
          <span>
            {text} {code && <code class="quiet">{code}</code>}
          </span>
        </li>
      ))}
    </ol>
  </Card>
)

const Sends = ({ message }: { message: MessageDetail }) => (
  <Card title={t('Sends')} note={t('What leaves for the person or an action')}>
    {message.sends.length === 0 && <Empty title={t('Nothing leaves for this message')} />}
    <ul class="rows">
      {message.sends.map((send) => (
        <li key={send.id}>
          <div class="grow">
            <p class="line">
              <State of={send.state} /> {wordOf(send.content.kind)}
            </p>
            {send.failure && <p class="note">{send.failure.reason}</p>}
            {send.providerId && (
              <p class="note">
                <code>{send.providerId}</code>
              </p>
            )}
            <Json title={t('Content')} value={send.content} />
          </div>
        </li>
      ))}
    </ul>
  </Card>
)

const Attempts = ({ message }: { message: MessageDetail }) => (
  <Card title={t('Attempts')} flush>
    {message.attempts.length === 0 ? (
      <Empty title={t('None yet')} />
    ) : (
      <ScrollRegion class="table-box">
        <table aria-label={t('Attempts')}>
          <thead>
            <tr>
              {[t('At'), t('Step'), t('Outcome'), t('Code'), t('It said'), t('Took')].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {message.attempts.map(({ at, step, outcome, code, error, ms }, index) => (
              <tr key={`${at} ${index}`}>
                <td>
                  <Time at={at} />
                </td>
                <td>
                  {step.startsWith(`${message._id}:`)
                    ? t('send {number}', { number: step.slice(message._id.length + 1) })
                    : step === 'handler'
                      ? t('handler')
                      : step}
                </td>
                <td>
                  <State of={outcome} />
                </td>
                <td>{code && <code>{code}</code>}</td>
                <td>{error}</td>
                <td>{count(Math.round(ms))} ms</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    )}
  </Card>
)

const TurnsCard = ({ turns }: { turns: readonly Turn[] }) => (
  <Card title={t('Turns')} note={costOf(turns)}>
    <div class="bubbles">
      <Turns turns={turns} />
    </div>
  </Card>
)
