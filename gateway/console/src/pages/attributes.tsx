import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, DeleteButton, notify } from '../components/actions.tsx'
import { Card, Empty, Failure, PageHead } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { Table } from '../components/list.tsx'
import { useSubmit } from '../components/submit.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import type { Attribute } from '../persons.ts'
import { mayAll } from '../rights.ts'
import { wordOf } from '../words.ts'

const PATH = '/rest/people/attributes'
const TYPES = ['text', 'number', 'boolean', 'date'] as const

/** The attributes that a person can have beside name, language and tags. */
export function AttributesSection({ tabs }: { tabs: ComponentChildren }) {
  const { data, error, put } = useLoad(PATH, (signal) =>
    call<{ attributes: Attribute[] }>('GET', PATH, { signal }),
  )
  const attributes = data?.attributes ?? []
  const declare = async (next: Attribute[]) =>
    put(await call<{ attributes: Attribute[] }>('PUT', PATH, { body: { attributes: next } }))
  const mayChange = mayAll('write', 'people')
  return (
    <>
      <PageHead title={t('Attributes')} note={t('What may be known of everybody, and stand in templates')} />
      {tabs}
      <Table
        {...{ label: t('Attributes'), rows: data?.attributes, error }}
        columns={[
          { name: t('Name'), cell: ({ name }: Attribute) => <code>{name}</code> },
          { name: t('Type'), cell: ({ type }: Attribute) => wordOf(type) },
          ...(mayChange
            ? [
                {
                  name: t('Actions'),
                  cell: ({ name }: Attribute) => (
                    <DeleteButton
                      what={t('attribute {name}', { name })}
                      note={t('Its values are taken from everybody, which can’t be undone.')}
                      onDelete={() => declare(attributes.filter((one) => one.name !== name))}
                    />
                  ),
                },
              ]
            : []),
        ]}
        keyOf={({ name }) => name}
        empty={<Empty title={t('No attributes yet')}>{t('Such as a city, or the number of orders.')}</Empty>}
      />
      {mayChange && data && (
        <Card title={t('New attribute')}>
          <AttributeForm onSubmit={(one) => declare([...attributes, one])} />
        </Card>
      )}
    </>
  )
}

function AttributeForm({ onSubmit }: { onSubmit(one: Attribute): Promise<void> }) {
  const [name, setName] = useState('')
  const [type, setType] = useState<Attribute['type']>('text')
  const { busy, error, submit } = useSubmit(async () => {
    await onSubmit({ name, type })
    notify(t('{name} is there.', { name }))
    setName('')
  })
  return (
    <form class="form" onSubmit={submit}>
      <div class="inline">
        <TextField
          label={t('Name')}
          note={t('Letters, digits and _')}
          value={name}
          onChange={setName}
          required
        />
        <SelectField
          label={t('Type')}
          value={type}
          options={TYPES.map((value) => ({ value, name: wordOf(value) }))}
          onChange={(value) => setType(value as Attribute['type'])}
        />
        <Button type="submit" kind="primary" disabled={busy}>
          {t('Add')}
        </Button>
      </div>
      <Failure error={error} />
    </form>
  )
}
