import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, Dialog, FormEnd, notify } from '../components/actions.tsx'
import { Card, Empty, Failure, Json, Loading, State, Time } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { useSubmit } from '../components/submit.ts'
import { count } from '../format.ts'
import { rich, t } from '../language.ts'
import { useLoad } from '../load.ts'
import { setQuery } from '../router.ts'
import type { Delivery } from '../subscriptions.ts'
import { reasonOf, wordOf } from '../words.ts'

interface DeliveriesProps {
  /** Of the subscription, in the API. */
  path: string
  query: URLSearchParams
  writable: boolean
}

/** The deliveries to a subscription, the latest first; each with its payload and attempts, to be sent again. */
export function Deliveries({ path, query, writable }: DeliveriesProps) {
  const state = query.get('state') ?? undefined
  const list = useList<Delivery>(`${path}/deliveries`, { state }, { everyMs: 3_000 })
  const [shown, setShown] = useState<string>()
  const [replaying, setReplaying] = useState(false)
  const columns: Column<Delivery>[] = [
    { name: t('Event'), cell: ({ event }) => event },
    { name: t('State'), cell: (delivery) => <State of={delivery.state} /> },
    { name: t('About'), wide: true, cell: ({ record }) => <code class="cut">{record}</code> },
    { name: t('Attempts'), wide: true, cell: ({ attempts }) => count(attempts.length) },
    { name: t('At'), wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      name: t('Look'),
      cell: ({ _id, event }) => (
        <Button small label={t('Look at {event} {id}', { event, id: _id })} onClick={() => setShown(_id)}>
          {t('Look')}
        </Button>
      ),
    },
  ]
  return (
    <Card
      title={t('Deliveries')}
      flush
      action={
        <div class="actions">
          <div class="segments">
            {['', 'pending', 'delivered', 'failed'].map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={(state ?? '') === one}
                onClick={() => setQuery({ state: one })}
              >
                {one === '' ? t('all') : wordOf(one)}
              </button>
            ))}
          </div>
          {writable && (
            <Button small onClick={() => setReplaying(true)}>
              {t('Replay since …')}
            </Button>
          )}
        </div>
      }
    >
      <Table
        {...{ label: t('Deliveries'), columns, rows: list.rows, error: list.error, keyOf: ({ _id }) => _id }}
        empty={
          <Empty title={t('Nothing was delivered yet')}>
            {writable && t('Send a test event to see whether the endpoint is there.')}
          </Empty>
        }
      />
      <More list={list} />
      {shown && (
        <DeliveryDialog
          {...{ path: `${path}/deliveries/${encodeURIComponent(shown)}`, writable }}
          onClose={() => setShown(undefined)}
          onReplayed={list.reload}
        />
      )}
      {replaying && (
        <ReplayDialog {...{ path }} onClose={() => setReplaying(false)} onReplayed={list.reload} />
      )}
    </Card>
  )
}

interface DialogProps {
  path: string
  onClose(): void
  onReplayed(): void
}

function DeliveryDialog({ path, writable, onClose, onReplayed }: DialogProps & { writable: boolean }) {
  const { data, error } = useLoad(path, (signal) => call<Delivery>('GET', path, { signal }), {
    everyMs: 2_000,
  })
  const replay = async () => {
    await call('POST', `${path}/replay`)
    notify(t('It is sent again, under the same id.'))
    onReplayed()
  }
  return (
    <Dialog title={data?.event ?? t('Delivery')} onClose={onClose} wide>
      <Failure error={error} />
      {data === undefined && !error && <Loading />}
      {data && (
        <>
          <p class="line">
            <State of={data.state} />
            <code>{data._id}</code>
            {data.due && <span>{rich('tried again {time}', { time: <Time at={data.due} relative /> })}</span>}
            {data.reason && <span class="quiet">{reasonOf(data.reason)}</span>}
          </p>
          <ol class="timeline">
            {data.attempts.map(({ at, ms, outcome, code }, index) => (
              <li key={index}>
                <State of={outcome} />
                <Time at={at} />
                <span class="quiet">
                  {count(Math.round(ms))} ms{code && ` · ${wordOf(code)}`}
                </span>
              </li>
            ))}
          </ol>
          {data.payload === undefined ? (
            <p class="note">{t('Your role can’t read what it says.')}</p>
          ) : (
            <Json title={t('Payload')} value={data.payload} />
          )}
          {writable && (
            <div class="actions end">
              <Button kind="primary" onClick={replay}>
                {t('Replay')}
              </Button>
            </div>
          )}
        </>
      )}
    </Dialog>
  )
}

const HOUR_MS = 3_600_000

function ReplayDialog({ path, onClose, onReplayed }: DialogProps) {
  const [since, setSince] = useState(localTime(new Date(Date.now() - HOUR_MS)))
  const [state, setState] = useState('failed')
  const { busy, error, submit } = useSubmit(async () => {
    const body = { since: new Date(since).toISOString(), ...(state === '' ? {} : { state }) }
    const { replayed, next } = await call<{ replayed: number; next: string | null }>(
      'POST',
      `${path}/replay`,
      { body },
    )
    notify(
      [
        t('{count} sent again.', { count: count(replayed) }),
        next === null ? '' : t('There are more: replay once more.'),
      ]
        .join(' ')
        .trim(),
    )
    onReplayed()
    onClose()
  })
  return (
    <Dialog title={t('Replay deliveries')} onClose={onClose}>
      <form onSubmit={submit}>
        <TextField label={t('Since')} type="datetime-local" value={since} onChange={setSince} required />
        <SelectField
          label={t('Which')}
          value={state}
          onChange={setState}
          options={[
            { value: 'failed', name: t('Those that failed') },
            { value: '', name: t('All') },
          ]}
        />
        <FormEnd action={t('Replay')} busy={busy} error={error} />
      </form>
    </Dialog>
  )
}

const localTime = (date: Date): string =>
  new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
