import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, notify } from '../components/actions.tsx'
import { Card, Failure } from '../components/basics.tsx'
import { AreaField, SelectField, TextField } from '../components/fields.tsx'
import { useSubmit } from '../components/submit.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import type { Person } from '../person-of.ts'
import { type Attribute, listIn } from '../persons.ts'
import { isChangedSince } from '../problems.ts'
import { patchDocument, type Version } from '../resources.ts'
import { may } from '../rights.ts'

interface PersonFormProps {
  read: Version<Person>
  onReload(): void
  onSaved(saved: Version<Person>): void
}

/** The typed values by field, over the version that was there when the first of them was typed. */
interface Typed {
  over: Version<Person>
  fields: Record<string, string>
  attributes: Record<string, string>
}

/** The form for the data of a person. */
export function PersonForm({ read, onReload, onSaved }: PersonFormProps) {
  const declared = useLoad('attributes', (signal) =>
    call<{ attributes: Attribute[] }>('GET', '/rest/people/attributes', { signal }),
  )
  const [typed, setTyped] = useState<Typed>()
  const { over, fields, attributes } = typed ?? { over: read, fields: {}, attributes: {} }
  const writable = may('write', 'people')
  const known = declared.data?.attributes ?? []
  const { busy, error, submit, dismiss } = useSubmit(async () => {
    const body = bodyOf(fields, attributes, known)
    onSaved(await patchDocument<Person>('people', read.data._id, { body, over }))
    setTyped(undefined)
    notify(t('Saved.'))
  })
  const person = over.data
  const reload = () => {
    setTyped(undefined)
    dismiss()
    onReload()
  }
  const text = (field: string, stored: string) => ({
    value: fields[field] ?? stored,
    onChange: (value: string) => setTyped({ over, attributes, fields: { ...fields, [field]: value } }),
    disabled: !writable,
  })
  const attribute = (name: string) => ({
    value: attributes[name] ?? String(person.attributes[name] ?? ''),
    onChange: (value: string) => setTyped({ over, fields, attributes: { ...attributes, [name]: value } }),
    disabled: !writable,
  })
  return (
    <Card title={t('Details')}>
      <form class="form" onSubmit={submit}>
        <TextField label={t('Name')} {...text('name', person.name ?? '')} required={false} />
        <AreaField
          label={t('Addresses')}
          note={t('One on each line: a number, or what a provider names them by')}
          rows={Math.min(6, person.addresses.length + 1)}
          {...text('addresses', person.addresses.join('\n'))}
        />
        <TextField
          label={t('Language')}
          note={t('Such as pt_BR')}
          {...text('language', person.language ?? '')}
          required={false}
        />
        <TextField
          label={t('Time zone')}
          note={t('Such as America/Sao_Paulo')}
          {...text('timeZone', person.timeZone ?? '')}
          required={false}
        />
        <TextField
          label={t('Tags')}
          note={t('Between commas')}
          {...text('tags', person.tags.join(', '))}
          required={false}
        />
        {known.map(({ name, type }) =>
          type === 'boolean' ? (
            <SelectField
              key={name}
              label={name}
              options={[
                { value: '', name: t('Not known') },
                { value: 'true', name: t('Yes') },
                { value: 'false', name: t('No') },
              ]}
              {...attribute(name)}
            />
          ) : (
            <TextField key={name} label={name} note={NOTES[type]} {...attribute(name)} required={false} />
          ),
        )}
        <Failure error={error} />
        {isChangedSince(error) && (
          <div class="actions">
            <Button onClick={reload}>{t('Load it again')}</Button>
            <p class="note">{t('What you typed here is lost then.')}</p>
          </div>
        )}
        {writable && (
          <div class="actions">
            <Button type="submit" kind="primary" disabled={busy || typed === undefined}>
              {t('Save')}
            </Button>
          </div>
        )}
      </form>
    </Card>
  )
}

const NOTES: Partial<Record<Attribute['type'], string>> = {
  number: t('A number'),
  date: t('A day such as 2026-05-31'),
}
const LISTS = ['addresses', 'tags']

/** A merge patch of what was typed: what is empty is taken away. */
function bodyOf(
  fields: Typed['fields'],
  attributes: Typed['attributes'],
  known: readonly Attribute[],
): Record<string, unknown> {
  const own = Object.entries(fields).map(([name, value]) => [
    name,
    LISTS.includes(name) ? listIn(value) : value.trim() || null,
  ])
  const types = new Map(known.map(({ name, type }) => [name, type]))
  const values = Object.entries(attributes).map(([name, value]) => [
    name,
    typedValue(value.trim(), types.get(name)),
  ])
  return { ...Object.fromEntries(own), ...(values.length > 0 && { attributes: Object.fromEntries(values) }) }
}

/** Returns the typed value; a text that is no number stays a text, which is refused by name. */
function typedValue(text: string, type: Attribute['type'] | undefined): unknown {
  if (text === '') return null
  if (type === 'boolean') return text === 'true'
  return type === 'number' && Number.isFinite(Number(text)) ? Number(text) : text
}
