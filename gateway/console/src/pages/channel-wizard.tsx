import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, LinkButton } from '../components/actions.tsx'
import { Badge, Card, Failure, Loading, PageHead, State } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { useSendKey, useSubmit } from '../components/submit.ts'
import { useLoad } from '../load.ts'
import type { MessageDetail } from '../messages.ts'
import { choicesOf, type Document } from '../resources.ts'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { HookCard, hookOf } from './channel-hook.tsx'

/** Connects a channel in three steps: its settings, what to paste at the provider, and a test message. */
export function ChannelWizard() {
  const [channel, setChannel] = useState<Document>()
  const back = { href: hrefOf('/channels'), label: 'Channels' }
  if (!may('write', 'channels')) return <PageHead title="Your role can’t connect channels" back={back} />
  return (
    <>
      <PageHead title="Connect a channel" back={back} />
      {channel === undefined ? <SettingsStep onCreated={setChannel} /> : <ConnectStep channel={channel} />}
    </>
  )
}

type Kind = 'whatsapp' | 'rpc'

interface Input {
  kind: Kind
  name: string
  extId: string
  phoneNumberId: string
  accessToken: string
  appSecret: string
  apiUrl: string
  url: string
  assistantId: string
  handlerUrl: string
}

const HANDLERS = [
  { value: 'native:agents/taskManager', name: 'The assistant, with its tools and workflow' },
  { value: 'native:agents/functionCall', name: 'The assistant, with its tools' },
  { value: 'native:agents/chat', name: 'The assistant, without tools' },
  { value: 'native:agents/echo', name: 'Echo: sends back what came in, for a first test' },
  { value: 'url', name: 'An endpoint of yours' },
]

const START: Input = {
  ...{ kind: 'whatsapp', name: '', extId: '', phoneNumberId: '', accessToken: '', appSecret: '' },
  ...{ apiUrl: '', url: '', assistantId: '', handlerUrl: 'native:agents/echo' },
}

function SettingsStep({ onCreated }: { onCreated(channel: Document): void }) {
  const [input, setInput] = useState(START)
  const assistants = useLoad('choices assistant', () =>
    may('read', 'assistant') ? choicesOf('assistant') : Promise.resolve([]),
  )
  const set = (field: keyof Input) => (value: string) => setInput((before) => ({ ...before, [field]: value }))
  const text = (field: keyof Input) => ({ value: input[field], onChange: set(field) })
  const { busy, error, submit } = useSubmit(async () =>
    onCreated(await call<Document>('POST', '/rest/channels', { body: channelOf(input) })),
  )
  const isWhatsapp = input.kind === 'whatsapp'
  return (
    <Card title="1. Settings">
      <form class="form" onSubmit={submit}>
        <SelectField
          label="Kind"
          {...text('kind')}
          options={[
            { value: 'whatsapp', name: 'A WhatsApp number' },
            { value: 'rpc', name: 'An endpoint of yours gets the answers' },
          ]}
        />
        <TextField label="Name" required {...text('name')} />
        <TextField label="External id" note="Messages name the channel by it" required {...text('extId')} />
        {isWhatsapp ? (
          <>
            <TextField
              label="Phone number id"
              note="From Meta’s API setup"
              required
              {...text('phoneNumberId')}
            />
            <TextField
              label="Access token"
              type="password"
              note="Of a system user that may send messages"
              required
              {...text('accessToken')}
            />
            <TextField
              label="App secret"
              type="password"
              note="From the app’s basic settings; needed to receive"
              required={false}
              {...text('appSecret')}
            />
            <TextField
              label="API address"
              type="url"
              note="For a simulator; Meta’s own when left out"
              required={false}
              {...text('apiUrl')}
            />
          </>
        ) : (
          <TextField
            label="Endpoint"
            type="url"
            note="Gets each answer as a signed POST"
            required
            {...text('url')}
          />
        )}
        <SelectField
          label="Who answers"
          value={HANDLERS.some(({ value }) => value === input.handlerUrl) ? input.handlerUrl : 'url'}
          options={HANDLERS}
          onChange={(chosen) => set('handlerUrl')(chosen === 'url' ? 'https://' : chosen)}
        />
        {!input.handlerUrl.startsWith('native:') && (
          <TextField label="Handler URL" type="url" required {...text('handlerUrl')} />
        )}
        {(assistants.data?.length ?? 0) > 0 && (
          <SelectField
            label="Assistant"
            required={false}
            {...text('assistantId')}
            options={[
              { value: '', name: 'None' },
              ...(assistants.data ?? []).map(({ value, name }) => ({ value: String(value), name })),
            ]}
          />
        )}
        <Failure error={error} />
        <div class="actions">
          <Button type="submit" kind="primary" disabled={busy}>
            Create the channel
          </Button>
        </div>
      </form>
    </Card>
  )
}

const TOKEN_BYTES = 18

function channelOf(input: Input): object {
  const { kind, name, extId, phoneNumberId, accessToken, appSecret, apiUrl, url, assistantId, handlerUrl } =
    input
  const verifyToken = Array.from(crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
  const whatsapp = {
    ...{ phoneNumberId, accessToken, verifyToken },
    ...(appSecret === '' ? {} : { appSecret }),
    ...(apiUrl === '' ? {} : { apiUrl }),
  }
  const config = {
    ...(kind === 'whatsapp' ? whatsapp : { callbackUrl: url }),
    ...(assistantId === '' ? {} : { assistantId: Number(assistantId) }),
  }
  return { name, description: name, extId, hook: kind, callback: kind, handlerUrl, config }
}

function ConnectStep({ channel }: { channel: Document }) {
  const hook = useLoad(`hook ${channel._id}`, () => hookOf(channel._id), { everyMs: 2_000 })
  return (
    <>
      {channel.hook === 'whatsapp' && (
        <>
          <Card title="2. Receive">
            <p>
              Paste the address and the verify token at Meta (WhatsApp, Configuration, Webhook), and subscribe
              to <code>messages</code>. This page waits for the handshake.{' '}
              {hook.data?.handshake.succeeded && <Badge tone="good">The handshake has come</Badge>}
            </p>
          </Card>
          {hook.data ? (
            <HookCard hook={hook.data} config={(channel.config ?? {}) as Record<string, unknown>} />
          ) : (
            <Loading />
          )}
        </>
      )}
      {may('write', 'messages') && <TestStep channel={channel} />}
      <div class="actions">
        <LinkButton href={hrefOf(`/channels/${channel._id}`)}>Go to the channel</LinkButton>
      </div>
    </>
  )
}

function TestStep({ channel }: { channel: Document }) {
  const [phone, setPhone] = useState('')
  const [text, setText] = useState('Hello from Parley')
  const [thread, setThread] = useState<string>()
  const { keyOf, gone } = useSendKey()
  const { busy, error, submit } = useSubmit(async () => {
    const key = keyOf([phone, text])
    const extId = `test-${key}`
    const body = { extId: channel.extId, user: { phone }, thread: { extId }, answer: { message: text } }
    await call('POST', '/rest/messages', { body, headers: { 'idempotency-key': key } })
    gone()
    setThread(extId)
  })
  return (
    <Card title={channel.hook === 'whatsapp' ? '3. Send a test' : '2. Send a test'}>
      <form class="form" onSubmit={submit}>
        <TextField
          label="Phone"
          type="tel"
          note="Yours, with the country’s code"
          value={phone}
          onChange={setPhone}
          required
        />
        <TextField label="Text" value={text} onChange={setText} required />
        <Failure error={error} />
        <div class="actions">
          <Button type="submit" disabled={busy}>
            Send
          </Button>
        </div>
      </form>
      {thread && may('read', 'messages') && <TestResult thread={thread} />}
    </Card>
  )
}

function TestResult({ thread }: { thread: string }) {
  const { data } = useLoad(
    `test ${thread}`,
    (signal) => call<{ data: MessageDetail[] }>('GET', '/rest/messages', { query: { thread }, signal }),
    { everyMs: 1_000 },
  )
  const message = data?.data[0]
  return (
    <p class="line" role="status">
      {message === undefined ? (
        'On its way …'
      ) : (
        <>
          <State of={message.state} />
          <a href={hrefOf(`/messages/${message._id}`)}>The test message</a>
          {message.reason && <span class="quiet">{message.reason}</span>}
        </>
      )}
    </p>
  )
}
