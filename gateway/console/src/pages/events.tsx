import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { PageProps } from '../app.tsx'
import { Button, DeleteButton, LinkButton, notify, Secret } from '../components/actions.tsx'
import { Badge, Card, Empty, Fact, Failure, Loading, PageHead, State, Time } from '../components/basics.tsx'
import { TextField } from '../components/fields.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { useLoad } from '../load.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'

interface Subscription {
  _id: string | number
  name: string
  url: string
  events: string[]
  channel?: string
  active: boolean
  signingSecret?: string
}

interface Delivery {
  _id: string
  event: string | { type?: string }
  state: string
  attempts: number | unknown[]
  at?: string
  createdAt?: string
}

const EVENTS = [
  ...[
    'message.received',
    'message.sent',
    'message.delivered',
    'message.read',
    'message.failed',
    'message.dead',
  ],
  ...['thread.handed_off', 'thread.opened'],
  ...['task.started', 'task.step_completed', 'task.completed', 'task.failed'],
]

/** Who gets signed requests when something happens. */
export function EventsPage({ rest: [id] }: PageProps) {
  if (id === 'new') return <NewSubscription />
  if (id !== undefined) return <SubscriptionPage key={id} id={id} />
  return <SubscriptionList />
}

function SubscriptionList() {
  const list = useList<Subscription>('/rest/subscriptions')
  const writable = may('write', 'subscriptions')
  const columns: Column<Subscription>[] = [
    { name: 'Name', cell: ({ name }) => name },
    { name: 'URL', wide: true, cell: ({ url }) => <code class="cut">{url}</code> },
    { name: 'Events', wide: true, cell: ({ events }) => events.length },
    {
      name: 'State',
      cell: ({ active }) => <Badge tone={active ? 'good' : 'warn'}>{active ? 'active' : 'off'}</Badge>,
    },
  ]
  return (
    <>
      <PageHead title="Events" note="Requests to your systems when something happens">
        {writable && (
          <LinkButton kind="primary" href={hrefOf('/events/new')}>
            New subscription
          </LinkButton>
        )}
      </PageHead>
      <Table
        {...{ label: 'Subscriptions', columns, rows: list.rows, error: list.error, keyOf: ({ _id }) => _id }}
        hrefOf={({ _id }) => hrefOf(`/events/${_id}`)}
        empty={
          <Empty title="No subscriptions yet">
            {writable && <a href={hrefOf('/events/new')}>Send the first events to an endpoint</a>}
          </Empty>
        }
      />
      <More list={list} />
    </>
  )
}

function NewSubscription() {
  const [name, setName] = useState('')
  const [url, setUrl] = useState('')
  const [events, setEvents] = useState<string[]>(['message.dead'])
  const [error, setError] = useState<Error>()
  const create = async (event: Event) => {
    event.preventDefault()
    try {
      const body = { name, url, events, active: true }
      navigate(`/events/${(await call<Subscription>('POST', '/rest/subscriptions', { body }))._id}`)
    } catch (thrown) {
      setError(thrown as Error)
    }
  }
  const toggle = (name: string, on: boolean) =>
    setEvents((before) => (on ? [...before, name] : before.filter((one) => one !== name)))
  return (
    <>
      <PageHead title="New subscription" back={{ href: hrefOf('/events'), label: 'Events' }} />
      <Card>
        <form class="form" onSubmit={create}>
          <TextField label="Name" value={name} onChange={setName} required />
          <TextField label="URL" type="url" value={url} onChange={setUrl} required />
          <fieldset class="field choices">
            <legend>Events</legend>
            {EVENTS.map((one) => (
              <label key={one}>
                <input
                  type="checkbox"
                  checked={events.includes(one)}
                  onChange={(event) => toggle(one, event.currentTarget.checked)}
                />
                {one}
              </label>
            ))}
          </fieldset>
          <Failure error={error} />
          <div class="actions">
            <Button type="submit" kind="primary">
              Create
            </Button>
          </div>
        </form>
      </Card>
    </>
  )
}

function SubscriptionPage({ id }: { id: string }) {
  const path = `/rest/subscriptions/${id}`
  const back = { href: hrefOf('/events'), label: 'Events' }
  const { data, error, reload } = useLoad(path, (signal) => call<Subscription>('GET', path, { signal }))
  const deliveries = useList<Delivery>(`${path}/deliveries`, {}, { everyMs: 2_000 })
  const writable = may('write', 'subscriptions')
  if (data === undefined)
    return (
      <>
        <PageHead title="Subscription" back={back} />
        {error ? <Failure error={error} /> : <Loading />}
      </>
    )
  const act = (what: string, done: string) => async () => {
    await call('POST', `${path}/${what}`)
    notify(done)
    deliveries.reload()
  }
  const columns: Column<Delivery>[] = [
    { name: 'Event', cell: ({ event }) => (typeof event === 'string' ? event : (event.type ?? '')) },
    { name: 'State', cell: ({ state }) => <State of={state} /> },
    { name: 'Attempts', cell: ({ attempts }) => (Array.isArray(attempts) ? attempts.length : attempts) },
    { name: 'At', wide: true, cell: ({ at, createdAt }) => <Time at={at ?? createdAt} /> },
    ...(writable
      ? [
          {
            name: 'Actions',
            cell: ({ _id }: Delivery) => (
              <Button small onClick={act(`deliveries/${_id}/replay`, 'It is delivered again.')}>
                Replay
              </Button>
            ),
          },
        ]
      : []),
  ]
  const setActive = async (active: boolean) => {
    await call('PATCH', path, { body: { active } })
    reload()
  }
  return (
    <>
      <PageHead title={data.name} back={back} note={<code>{data.url}</code>}>
        {writable && <Button onClick={act('test', 'A test event is sent.')}>Send a test event</Button>}
        {writable && (
          <Button onClick={() => setActive(!data.active)}>{data.active ? 'Turn off' : 'Turn on'}</Button>
        )}
        {writable && (
          <DeleteButton
            what={`subscription ${data.name}`}
            onDelete={async () => {
              await call('DELETE', path)
              navigate('/events')
            }}
          />
        )}
      </PageHead>
      <Card>
        <dl class="facts">
          <Fact term="Events">{data.events.join(', ')}</Fact>
          {data.signingSecret && (
            <Fact term="Signing secret">
              <Secret value={data.signingSecret} label="the signing secret" />
            </Fact>
          )}
        </dl>
      </Card>
      <Card title="Deliveries" flush>
        <Table
          {...{
            label: 'Deliveries',
            columns,
            rows: deliveries.rows,
            error: deliveries.error,
            keyOf: ({ _id }) => _id,
          }}
          empty={<Empty title="No deliveries yet">Send a test event to try it.</Empty>}
        />
        <More list={deliveries} />
      </Card>
    </>
  )
}
