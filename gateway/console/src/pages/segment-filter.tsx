import { useEffect, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { type Attribute, listIn, PURPOSES } from '../persons.ts'
import { messageOf } from '../problems.ts'
import { may } from '../rights.ts'
import { countOf } from '../segment-count.ts'
import { type Condition, conditionInWords, GROUPS, missingIn, type SegmentFilter } from '../segments.ts'
import { wordOf } from '../words.ts'

const COUNT_AFTER_MS = 500

type AttributeCondition = Extract<Condition, { attribute: string }>

/** Conditions that can be asked of a person, with the value that a new one starts with. */
const KINDS: { kind: string; name: string; first: Condition; is(one: Condition): boolean }[] = [
  { kind: 'tag', name: t('Tag'), first: { tag: '' }, is: (one) => 'tag' in one },
  {
    kind: 'consent',
    name: t('Consent'),
    first: { consent: 'marketing', is: 'granted' },
    is: (one) => 'consent' in one,
  },
  {
    kind: 'attribute',
    name: t('Attribute'),
    first: { attribute: '', in: [] },
    is: (one) => 'attribute' in one,
  },
  { kind: 'language', name: t('Language'), first: { language: '' }, is: (one) => 'language' in one },
  { kind: 'timeZone', name: t('Time zone'), first: { timeZone: '' }, is: (one) => 'timeZone' in one },
  {
    kind: 'days',
    name: t('Wrote lately'),
    first: { contactedInDays: 30 },
    is: (one) => 'contactedInDays' in one,
  },
  {
    kind: 'never',
    name: t('Never wrote'),
    first: { lastContact: 'never' },
    is: (one) => 'lastContact' in one && one.lastContact === 'never',
  },
]

interface FilterProps {
  filter: SegmentFilter
  onChange(filter: SegmentFilter): void
}

/** The conditions of a filter, and how many people meet them. */
export function SegmentFilterFields({ filter, onChange }: FilterProps) {
  const { data } = useLoad('attributes', async (signal) =>
    may('read', 'people')
      ? (await call<{ attributes: Attribute[] }>('GET', '/rest/people/attributes', { signal })).attributes
      : [],
  )
  return (
    <>
      {GROUPS.map(({ group, name }) => (
        <fieldset key={group} class="field">
          <legend>{name}</legend>
          {(filter[group] ?? []).map((one, at) => (
            <ConditionFields
              key={at}
              one={one}
              label={t('{name}, condition {at}', { name, at: at + 1 })}
              attributes={data ?? []}
              onChange={(next) => onChange(withCondition(filter, group, at, next))}
              onRemove={() => onChange(withCondition(filter, group, at))}
            />
          ))}
          <Button
            small
            label={t('Add a condition to: {name}', { name })}
            onClick={() => onChange({ ...filter, [group]: [...(filter[group] ?? []), { tag: '' }] })}
          >
            {t('Add a condition')}
          </Button>
        </fieldset>
      ))}
      {may('read', 'people') && <PeopleCount filter={filter} />}
    </>
  )
}

/** The filter with another condition in a place, or without that one. */
function withCondition(
  filter: SegmentFilter,
  group: (typeof GROUPS)[number]['group'],
  at: number,
  next?: Condition,
): SegmentFilter {
  const conditions = (filter[group] ?? []).flatMap((one, index) =>
    index === at ? (next === undefined ? [] : [next]) : [one],
  )
  const { [group]: _before, ...rest } = filter
  return conditions.length === 0 ? rest : { ...rest, [group]: conditions }
}

interface ConditionProps {
  one: Condition
  label: string
  attributes: readonly Attribute[]
  onChange(one: Condition): void
  onRemove(): void
}

function ConditionFields({ one, label, attributes, onChange, onRemove }: ConditionProps) {
  const kind = KINDS.find(({ is }) => is(one))
  return (
    <div class="inline">
      {kind === undefined ? (
        <p class="field grow">{conditionInWords(one)}</p>
      ) : (
        <>
          <SelectField
            label={label}
            value={kind.kind}
            options={KINDS.map(({ kind: value, name }) => ({ value, name }))}
            onChange={(value) => onChange(KINDS.find((each) => each.kind === value)?.first ?? one)}
          />
          <Value {...{ one, attributes, onChange }} />
        </>
      )}
      <Button small label={t('Remove: {label}', { label })} onClick={onRemove}>
        {t('Remove')}
      </Button>
    </div>
  )
}

function Value({ one, attributes, onChange }: Pick<ConditionProps, 'one' | 'attributes' | 'onChange'>) {
  if ('tag' in one)
    return <TextField label={t('Is')} value={one.tag} onChange={(tag) => onChange({ tag })} required />
  if ('language' in one)
    return (
      <TextField
        label={t('Is')}
        placeholder={t('pt, or pt_BR')}
        value={one.language}
        onChange={(language) => onChange({ language })}
        required
      />
    )
  if ('timeZone' in one)
    return (
      <TextField
        label={t('Is')}
        placeholder="America/Sao_Paulo"
        value={one.timeZone}
        onChange={(timeZone) => onChange({ timeZone })}
        required
      />
    )
  if ('contactedInDays' in one)
    return (
      <TextField
        label={t('In the last days')}
        type="number"
        value={String(one.contactedInDays)}
        onChange={(days) => onChange({ contactedInDays: Number(days) })}
        required
      />
    )
  if ('consent' in one)
    return (
      <>
        <SelectField
          label={t('To')}
          value={one.consent}
          options={PURPOSES.map((value) => ({ value, name: wordOf(value) }))}
          onChange={(value) => onChange({ ...one, consent: value as typeof one.consent })}
        />
        <SelectField
          label={t('Is')}
          value={one.is}
          options={['granted', 'withdrawn', 'unknown'].map((value) => ({ value, name: wordOf(value) }))}
          onChange={(value) => onChange({ ...one, is: value as typeof one.is })}
        />
      </>
    )
  return 'attribute' in one ? <AttributeValue {...{ one, attributes, onChange }} /> : null
}

function AttributeValue({
  one,
  attributes,
  onChange,
}: {
  one: AttributeCondition
  attributes: readonly Attribute[]
  onChange(one: Condition): void
}) {
  const { attribute } = one
  const type = attributes.find(({ name }) => name === attribute)?.type
  const how = 'in' in one ? 'in' : 'exists' in one ? (one.exists ? 'there' : 'missing') : 'range'
  const choose = (next: string) => {
    if (next === 'in') onChange({ attribute, in: [] })
    else if (next === 'range') onChange({ attribute, from: typedValue('', type) })
    else onChange({ attribute, exists: next === 'there' })
  }
  const change = (part: object) => onChange({ ...one, ...part } as Condition)
  const bound = (name: 'from' | 'below') => (text: string) =>
    change({ [name]: text === '' ? undefined : typedValue(text, type) })
  return (
    <>
      <SelectField
        label={t('Name')}
        value={attribute}
        options={[
          ...(attributes.some(({ name }) => name === attribute)
            ? []
            : [{ value: attribute, name: attribute || t('Choose …') }]),
          ...attributes.map(({ name }) => ({ value: name, name })),
        ]}
        onChange={(name) => onChange({ attribute: name, in: [] })}
      />
      <SelectField
        label={t('Is')}
        value={how}
        options={[
          { value: 'in', name: t('one of') },
          { value: 'range', name: t('between') },
          { value: 'there', name: t('known') },
          { value: 'missing', name: t('not known') },
        ]}
        onChange={choose}
      />
      {'in' in one && (
        <Texts
          values={one.in.map(String)}
          onChange={(values) => change({ in: values.map((each) => typedValue(each, type)) })}
        />
      )}
      {how === 'range' && (
        <>
          <TextField
            label={t('From')}
            value={String('from' in one ? (one.from ?? '') : '')}
            onChange={bound('from')}
            required={false}
          />
          <TextField
            label={t('Below')}
            value={String('below' in one ? (one.below ?? '') : '')}
            onChange={bound('below')}
            required={false}
          />
        </>
      )}
    </>
  )
}

/** Several values; what is typed stays as it is typed. */
function Texts({ values, onChange }: { values: string[]; onChange(values: string[]): void }) {
  const [text, setText] = useState(values.join(', '))
  const type = (typed: string) => {
    setText(typed)
    onChange(listIn(typed))
  }
  return (
    <TextField label={t('Values')} placeholder={t('Between commas')} value={text} onChange={type} required />
  )
}

const typedValue = (text: string, type: Attribute['type'] | undefined): string | number | boolean => {
  if (type === 'boolean') return text === 'true' || text === 'yes'
  return type === 'number' && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}

/** How many people meet a filter, counted once typing rests; what has to be typed before, where something has. */
export function PeopleCount({ filter }: { filter: SegmentFilter }) {
  const text = JSON.stringify(filter)
  const [asked, setAsked] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), COUNT_AFTER_MS)
    return () => clearTimeout(timer)
  }, [text])
  const missing = missingIn(filter)
  const { data, error } = useLoad(`count ${asked}`, async (signal) => {
    const own: SegmentFilter = JSON.parse(asked)
    return missingIn(own) === undefined ? countOf(own, signal) : undefined
  })
  const failed = missing === undefined ? error : undefined
  return (
    <p role="status" class={failed ? 'field-error' : missing && 'note'}>
      {missing ??
        (failed
          ? messageOf(failed)
          : data === undefined
            ? t('Counting …')
            : t('{count, plural, one {# person} other {# people}} now', { count: data }))}
    </p>
  )
}
