import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, LinkButton, Paste } from '../components/actions.tsx'
import { Card, Failure, Loading, PageHead } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { useSubmit } from '../components/submit.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { schemaNamed } from '../openapi.ts'
import { choicesOf } from '../resources.ts'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { eventInWords, groupsOf, type Subscription } from '../subscriptions.ts'

const BACK = { href: hrefOf('/events'), label: t('Events') }
const FIRST = ['message.received', 'message.delivered', 'message.failed', 'message.dead']

/** Makes a subscription; its signing secret is shown once. */
export function NewSubscription() {
  const [made, setMade] = useState<Subscription>()
  if (!may('write', 'subscriptions'))
    return <PageHead title={t('Your role can’t make subscriptions')} back={BACK} />
  return (
    <>
      <PageHead title={t('New subscription')} back={BACK} />
      <Card>{made === undefined ? <Form onMade={setMade} /> : <Made subscription={made} />}</Card>
    </>
  )
}

function Form({ onMade }: { onMade(made: Subscription): void }) {
  const [name, setName] = useState('')
  const [url, setUrl] = useState('https://')
  const [channel, setChannel] = useState('')
  const [events, setEvents] = useState<readonly string[]>(FIRST)
  const channels = useLoad('choices channels', () =>
    may('read', 'channels') ? choicesOf('channels') : Promise.resolve([]),
  )
  const { busy, error, submit } = useSubmit(async () => {
    const body = { name, url, events, ...(channel === '' ? {} : { channel: Number(channel) }) }
    onMade(await call<Subscription>('POST', '/rest/subscriptions', { body }))
  })
  return (
    <form class="form" onSubmit={submit}>
      <TextField label={t('Name')} value={name} onChange={setName} required />
      <TextField
        label={t('Address')}
        type="url"
        note={t('Gets each event as a signed POST')}
        value={url}
        onChange={setUrl}
        required
      />
      {(channels.data?.length ?? 0) > 0 && (
        <SelectField
          label={t('Channel')}
          value={channel}
          onChange={setChannel}
          options={[
            { value: '', name: t('All') },
            ...(channels.data ?? []).map((one) => ({ value: String(one.value), name: one.name })),
          ]}
        />
      )}
      <EventChoices chosen={events} onChange={setEvents} />
      <Failure error={error} />
      <div class="actions">
        <Button type="submit" kind="primary" disabled={busy || events.length === 0}>
          {t('Create')}
        </Button>
      </div>
    </form>
  )
}

function EventChoices({
  chosen,
  onChange,
}: {
  chosen: readonly string[]
  onChange(events: readonly string[]): void
}) {
  const schema = useLoad('schema SubscriptionBody', () => schemaNamed('SubscriptionBody'))
  if (schema.data === undefined) return schema.error ? <Failure error={schema.error} /> : <Loading />
  const known = (schema.data.properties?.events?.items?.enum ?? []) as string[]
  const toggle = (event: string, on: boolean) =>
    onChange(on ? [...chosen, event] : chosen.filter((one) => one !== event))
  return (
    <>
      {groupsOf(known).map((group) => (
        <fieldset key={group.name} class="field choices many">
          <legend>{group.name}</legend>
          {group.events.map((event) => (
            <label key={event}>
              <input
                type="checkbox"
                checked={chosen.includes(event)}
                onChange={({ currentTarget }) => toggle(event, currentTarget.checked)}
              />
              {eventInWords(event)}
            </label>
          ))}
        </fieldset>
      ))}
    </>
  )
}

/** The secret of a subscription, which is shown when it was made. */
function Made({ subscription: { _id, name, signingSecret } }: { subscription: Subscription }) {
  return (
    <>
      <p>
        {t(
          '{name} gets events from now on. Its endpoint checks their signature with this secret; store it now: it is not shown again.',
          { name },
        )}
      </p>
      <p class="paste-line">
        <Paste value={signingSecret ?? ''} label={t('the signing secret')} />
      </p>
      <div class="actions">
        <LinkButton kind="primary" href={hrefOf(`/events/${_id}`)}>
          {t('Go to the subscription')}
        </LinkButton>
      </div>
    </>
  )
}
