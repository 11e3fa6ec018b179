import type { Schemas } from '@parley/client'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, Dialog, FormEnd, notify } from '../components/actions.tsx'
import { Badge, Card, Failure, Time } from '../components/basics.tsx'
import { AreaField, SelectField } from '../components/fields.tsx'
import { More, useList } from '../components/list.tsx'
import { useSubmit } from '../components/submit.ts'
import { t } from '../language.ts'
import type { Person } from '../person-of.ts'
import { type ConsentStatus, PURPOSES, type Purpose, TONES } from '../persons.ts'
import { may } from '../rights.ts'
import { wordOf } from '../words.ts'

const SOURCES: Record<string, string> = {
  message: t('in a message'),
  button: t('by a button'),
  provider: t('in the settings of the messenger'),
  refusal: t('seen from a refusal of the provider'),
  api: t('through the API or here'),
  import: t('by an import'),
}

/** The consent of a person, how it was given, and a form that changes it. */
export function ConsentCard({ person, onChange }: { person: Person; onChange(): void }) {
  const [isOpen, setOpen] = useState(false)
  const history = useList<Schemas['ConsentChange']>(`/rest/people/${person._id}/consent`)
  return (
    <Card
      title={t('Consent')}
      note={t('Who has withdrawn it gets none of it, whoever sends it')}
      action={may('write', 'people') && <Button onClick={() => setOpen(true)}>{t('Change consent')}</Button>}
    >
      <dl class="facts">
        {PURPOSES.map((purpose) => {
          const { status, at, source } = person.consent[purpose]
          return (
            <div key={purpose} class="fact">
              <dt>{wordOf(purpose)}</dt>
              <dd>
                <Badge tone={TONES[status]}>{wordOf(status)}</Badge>{' '}
                {at && (
                  <span class="quiet">
                    <Time at={at} relative /> {SOURCES[source ?? ''] ?? source}
                  </span>
                )}
              </dd>
            </div>
          )
        })}
      </dl>
      <Failure error={history.error} />
      {(history.rows?.length ?? 0) > 0 && (
        <>
          <h3>{t('History')}</h3>
          <ol class="timeline">
            {history.rows?.map(({ _id, purpose, status, at, source, text }) => (
              <li key={_id}>
                <span>
                  {wordOf(purpose)} {wordOf(status)}
                  {text && ' '}
                  {text && <q class="quiet">{text}</q>}
                </span>
                <span class="quiet">{SOURCES[source] ?? source}</span>
                <Time at={at} />
              </li>
            ))}
          </ol>
          <More list={history} />
        </>
      )}
      {isOpen && (
        <ChangeDialog person={person} onClose={() => setOpen(false)} onDone={[onChange, history.reload]} />
      )}
    </Card>
  )
}

interface ChangeProps {
  person: Person
  onClose(): void
  onDone: (() => void)[]
}

function ChangeDialog({ person, onClose, onDone }: ChangeProps) {
  const [purpose, setPurpose] = useState<Purpose>('marketing')
  const [status, setStatus] = useState<ConsentStatus>(
    person.consent.marketing.status === 'granted' ? 'withdrawn' : 'granted',
  )
  const [text, setText] = useState('')
  const { busy, error, submit } = useSubmit(async () => {
    const consent = { [purpose]: { status, ...(text !== '' && { text }) } }
    await call('PATCH', `/rest/people/${person._id}`, { body: { consent } })
    for (const done of onDone) done()
    notify(`${wordOf(purpose)}: ${wordOf(status)}.`)
    onClose()
  })
  return (
    <Dialog title={t('Change consent')} onClose={onClose}>
      <form onSubmit={submit}>
        <SelectField
          label={t('To')}
          value={purpose}
          options={PURPOSES.map((value) => ({ value, name: wordOf(value) }))}
          onChange={(value) => setPurpose(value as Purpose)}
        />
        <SelectField
          label={t('They have')}
          value={status}
          options={[
            { value: 'granted', name: t('granted it') },
            { value: 'withdrawn', name: t('withdrawn it') },
          ]}
          onChange={(value) => setStatus(value as ConsentStatus)}
        />
        <AreaField
          label={t('Their words, or the text that they agreed to')}
          note={t('You have to be able to show it')}
          rows={3}
          value={text}
          onChange={setText}
          required={false}
        />
        <FormEnd action={t('Change')} busy={busy} error={error} />
      </form>
    </Dialog>
  )
}
