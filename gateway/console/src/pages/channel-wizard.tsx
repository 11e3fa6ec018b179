import { allProviders, providerNamed, usualProvider } from '@parley/shared/providers/registry'
import type { Setting } from '@parley/shared/providers/setting'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, LinkButton } from '../components/actions.tsx'
import { Badge, Card, Failure, Loading, PageHead, State } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { useSendKey, useSubmit } from '../components/submit.ts'
import { t, translated } from '../language.ts'
import { useLoad } from '../load.ts'
import type { MessageDetail } from '../messages.ts'
import { InputError } from '../problems.ts'
import { choicesOf, type Document } from '../resources.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'
import { randomText, simulatorUrl } from '../simulator.ts'
import { reasonOf } from '../words.ts'
import { ChannelCheck } from './channel-check.tsx'
import { HookCard, hookOf } from './channel-hook.tsx'
import { UseSimulator } from './use-simulator.tsx'

/** Connects a channel in steps: its settings, then, of the one with this `id`, what to paste at the provider, whether all is well there, and a test message. */
export function ChannelWizard({ id }: { id?: string }) {
  const back = { href: hrefOf('/channels'), label: t('Channels') }
  const { data, error } = useLoad(`connect ${id}`, (signal) =>
    id === undefined ? Promise.resolve(undefined) : call<Document>('GET', `/rest/channels/${id}`, { signal }),
  )
  if (!may('write', 'channels')) return <PageHead title={t('Your role can’t connect channels')} back={back} />
  return (
    <>
      <PageHead title={t('Connect a channel')} back={back} />
      {id === undefined && (
        <SettingsStep onCreated={({ _id }) => navigate(`/channels/${_id}/connect`, { replace: true })} />
      )}
      {id !== undefined && data === undefined && (error ? <Failure error={error} /> : <Loading />)}
      {data && <ConnectStep channel={data} />}
    </>
  )
}

interface Input {
  provider: string
  name: string
  extId: string
  /** The settings that the provider asks for, by key in `config`. */
  settings: Record<string, string>
  assistantId: string
  handlerUrl: string
}

/** Those that messages come from first. */
const PROVIDERS = allProviders().toSorted(
  (one, other) => Number(other.inbound !== undefined) - Number(one.inbound !== undefined),
)

const HANDLERS = [
  { value: 'native:agents/taskManager', name: t('The assistant, with its tools and workflow') },
  { value: 'native:agents/functionCall', name: t('The assistant, with its tools') },
  { value: 'native:agents/chat', name: t('The assistant, without tools') },
  { value: 'native:agents/echo', name: t('Echo: sends back what came in, for a first test') },
  { value: 'url', name: t('An endpoint of yours') },
]

const START: Input = {
  ...{ provider: usualProvider().name, name: '', extId: '', settings: {} },
  ...{ assistantId: '', handlerUrl: 'native:agents/echo' },
}

const EXTERNAL_ID = /^[\w.-]{1,128}$/

function SettingsStep({ onCreated }: { onCreated(channel: Document): void }) {
  const [input, setInput] = useState(START)
  const assistants = useLoad('choices assistant', () =>
    may('read', 'assistant') ? choicesOf('assistant') : Promise.resolve([]),
  )
  type Field = Exclude<keyof Input, 'settings'>
  const set = (field: Field) => (value: string) => setInput((before) => ({ ...before, [field]: value }))
  const text = (field: Field) => ({ value: input[field], onChange: set(field) })
  const { busy, error, submit } = useSubmit(async () => {
    if (!EXTERNAL_ID.test(input.extId)) {
      const message = t('has letters, digits, dots, hyphens and underscores only: it is part of addresses')
      throw new InputError(t('The external id {problem}.', { problem: message }), [
        { path: '/extId', message },
      ])
    }
    onCreated(await call<Document>('POST', '/rest/channels', { body: channelOf(input) }))
  })
  return (
    <Card title={t('1. Settings')}>
      <form class="form" onSubmit={submit}>
        <SelectField
          label={t('Kind')}
          {...text('provider')}
          options={PROVIDERS.map(({ name, description }) => ({
            value: name,
            name: translated(description.title),
          }))}
        />
        <TextField label={t('Name')} required {...text('name')} />
        <TextField
          label={t('External id')}
          note={t('Messages name the channel by it')}
          required
          {...text('extId')}
        />
        {askedFor(input.provider).map(({ key, label, note, kind, isSecret, isOptional }) => (
          <TextField
            key={key}
            {...{ label: translated(label), note: translated(note), required: !isOptional }}
            type={isSecret ? 'password' : kind}
            value={input.settings[key] ?? ''}
            onChange={(value) =>
              setInput((before) => ({ ...before, settings: { ...before.settings, [key]: value } }))
            }
          />
        ))}
        <SelectField
          label={t('Who answers')}
          value={HANDLERS.some(({ value }) => value === input.handlerUrl) ? input.handlerUrl : 'url'}
          options={HANDLERS}
          onChange={(chosen) => set('handlerUrl')(chosen === 'url' ? 'https://' : chosen)}
        />
        {!input.handlerUrl.startsWith('native:') && (
          <TextField label={t('Handler URL')} type="url" required {...text('handlerUrl')} />
        )}
        {(assistants.data?.length ?? 0) > 0 && (
          <SelectField
            label={t('Assistant')}
            required={false}
            {...text('assistantId')}
            options={[
              { value: '', name: t('None') },
              ...(assistants.data ?? []).map(({ value, name }) => ({ value: String(value), name })),
            ]}
          />
        )}
        <Failure error={error} />
        <div class="actions">
          <Button type="submit" kind="primary" disabled={busy}>
            {t('Create the channel')}
          </Button>
          {simulatorUrl() && <UseSimulator />}
        </div>
      </form>
    </Card>
  )
}

const settingsOf = (provider: string) => providerNamed(provider)?.settings ?? []

/** Returns the settings to look up, or possibly to change, before the channel sends and receives. */
const askedFor = (provider: string): readonly Setting[] =>
  settingsOf(provider).filter(({ neededTo, isGenerated }) => neededTo !== 'check' && !isGenerated)

function channelOf({ provider, name, extId, settings, assistantId, handlerUrl }: Input): object {
  const given = askedFor(provider).flatMap(({ key }) => (settings[key] ? [[key, settings[key]]] : []))
  const generated = settingsOf(provider).flatMap(({ key, isGenerated }) =>
    isGenerated ? [[key, randomText()]] : [],
  )
  const config = {
    ...Object.fromEntries([...given, ...generated]),
    ...(assistantId === '' ? {} : { assistantId: Number(assistantId) }),
  }
  return { name, description: name, extId, hook: provider, callback: provider, handlerUrl, config }
}

function ConnectStep({ channel }: { channel: Document }) {
  const hook = useLoad(`hook ${channel._id}`, () => hookOf(channel._id), { everyMs: 2_000 })
  const receiving = providerNamed(channel.hook)?.description.receiving
  return (
    <>
      {receiving && (
        <>
          <Card title={t('2. Receive')}>
            <p>
              {receiving.instructions.map((part) =>
                typeof part === 'string' ? translated(part) : <code key={part.code}>{part.code}</code>,
              )}
              {receiving.hasHandshake && ` ${t('This page waits for the handshake.')} `}
              {hook.data?.handshake.succeeded && <Badge tone="good">{t('The handshake has come')}</Badge>}
            </p>
          </Card>
          {hook.data ? (
            <HookCard hook={hook.data} config={(channel.config ?? {}) as Record<string, unknown>} />
          ) : (
            <Loading />
          )}
        </>
      )}
      <ChannelCheck channel={channel} hook={hook.data} step={receiving ? 3 : 2} />
      {may('write', 'messages') && <TestStep channel={channel} step={receiving ? 4 : 3} />}
      <div class="actions">
        <LinkButton href={hrefOf(`/channels/${channel._id}`)}>{t('Go to the channel')}</LinkButton>
      </div>
    </>
  )
}

function TestStep({ channel, step }: { channel: Document; step: number }) {
  const [phone, setPhone] = useState('')
  const [text, setText] = useState(t('Hello from Parley'))
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
    <Card title={t('{step}. Send a test', { step })}>
      <form class="form" onSubmit={submit} data-passing>
        <TextField
          label={t('Phone')}
          type="tel"
          note={t('Yours, with the country’s code')}
          value={phone}
          onChange={setPhone}
          required
        />
        <TextField label={t('Text')} value={text} onChange={setText} required />
        <Failure error={error} />
        <div class="actions">
          <Button type="submit" disabled={busy}>
            {t('Send')}
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
        t('On its way …')
      ) : (
        <>
          <State of={message.state} />
          <a href={hrefOf(`/messages/${message._id}`)}>{t('The test message')}</a>
          {message.reason && <span class="quiet">{reasonOf(message.reason)}</span>}
        </>
      )}
    </p>
  )
}
