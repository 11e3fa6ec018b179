import { configSettings } from '@parley/shared/config-settings'
import { providerNamed } from '@parley/shared/providers/registry'
import { MASK } from '@parley/shared/secret-names'
import type { KnownSettings } from '../json/json-check.ts'
import { JsonField } from '../json/json-field.tsx'
import { syntaxProblem } from '../json/json-syntax.ts'
import { t, translated } from '../language.ts'
import { useLoad } from '../load.ts'
import { schemaNamed } from '../openapi.ts'
import { fieldsOf, InputError, isChangedSince } from '../problems.ts'
import type { Version } from '../resources.ts'
import { type Schema, withoutNull } from '../schema.ts'
import { wordOf } from '../words.ts'
import { Button } from './actions.tsx'
import { Failure, Loading } from './basics.tsx'
import { type Edits, mask, type Typed, unmask, type Values } from './edits.ts'
import { AreaField, SelectField, TextField } from './fields.tsx'
import { Reference, References } from './reference-fields.tsx'
import { useSubmit } from './submit.ts'

interface SchemaFormProps {
  /** The schema's name in the OpenAPI document. */
  schema: string
  /** The document as it is there now. */
  read: Version<Values>
  edits: Edits
  references: Record<string, string>
  /** Saves over the version that what is typed began with. Without it the form only shows. */
  onSave?: (body: object, over: Version<unknown>) => Promise<Version<unknown>>
  /** Loads what is there now, in place of what is typed here. */
  onReload?: () => void
  action: string
}

const LONG = new Set(['description', 'backstory', 'instructions', 'goal', 'submitWhen'])

/** A form made from a schema of the API: references become choices, free-form objects JSON with secrets masked. */
export function SchemaForm(props: SchemaFormProps) {
  const { schema: name, read, edits, references, onSave, onReload, action } = props
  const schema = useLoad(`schema ${name}`, () => schemaNamed(name))
  const { properties = {}, required = [] } = schema.data ?? {}
  const fields = Object.entries(properties).filter(([field, of]) => field !== '_id' && isTyped(of))
  const { typed } = edits
  const { busy, error, submit, dismiss } = useSubmit(async () => {
    const body = complete(
      fields.map(([field]) => field),
      { typed, initial: read.data },
    )
    const saved = await onSave?.(body, typed.over ?? read)
    if (saved) edits.settle(typed, saved)
  })
  if (schema.data === undefined)
    return schema.error ? <Failure error={schema.error} /> : <Loading lines={6} />
  const values = { ...read.data, ...typed.values }
  const reload = () => {
    edits.clear()
    dismiss()
    onReload?.()
  }
  return (
    <form class="form" onSubmit={submit}>
      {fields.map(([field, of]) => (
        <SchemaField
          key={field}
          name={field}
          schema={of}
          documentName={values.name}
          settings={settingsOf({ form: name, field, of, values })}
          value={values[field]}
          text={typed.texts[field]}
          required={required.includes(field)}
          reference={references[field]}
          disabled={onSave === undefined}
          error={errorOf(error, field)}
          onValue={(value) => edits.setValue(field, value, read)}
          onText={(text) => edits.setText(field, text, read)}
        />
      ))}
      <Failure error={error} />
      {isChangedSince(error) && onReload && (
        <div class="actions">
          <Button onClick={reload}>{t('Load it again')}</Button>
          <p class="note">{t('What you typed here is lost then.')}</p>
        </div>
      )}
      {onSave && (
        <div class="actions">
          <Button type="submit" kind="primary" disabled={busy}>
            {action}
          </Button>
        </div>
      )}
    </form>
  )
}

/** True if a field has a type. Fields that the API ignores, so that a document can be sent back as read, have none. */
const isTyped = ({ type, anyOf, enum: values, $ref }: Schema): boolean =>
  (type ?? anyOf ?? values ?? $ref) !== undefined

interface Place {
  form: string
  field: string
  of: Schema
  values: Values
}

/** The settings of a free-form field, as far as they are known. */
function settingsOf({ form, field, of, values }: Place): KnownSettings | undefined {
  const { properties } = withoutNull(of).schema
  if (form === 'ConfigBody' && field === 'value')
    return configSettings({ name: String(values.name), ownerType: String(values.ownerType) })
  if (form !== 'ChannelBody' || field !== 'config') return properties
  const providers = [values.hook, values.callback].map((name) => providerNamed(String(name)))
  const own = providers.flatMap((provider) => provider?.settings ?? []).filter(({ isSecret }) => !isSecret)
  const described = own.map(({ key, label, note }) => [
    key,
    { type: 'string', description: `${label}: ${note}` },
  ])
  return { ...properties, ...Object.fromEntries(described) }
}

const errorOf = (error: Error | undefined, field: string): string | undefined =>
  fieldsOf(error).find(({ path }) => path === `/${field}` || path.startsWith(`/${field}/`))?.message

/** The document with what was typed; throws what is wrong with JSON in that. */
function complete(
  fields: string[],
  { typed: { values, texts }, initial }: { typed: Typed; initial: Values },
): Values {
  const current = { ...initial, ...values }
  const body: Values = {}
  for (const field of fields) {
    const text = texts[field]
    const value =
      text === undefined
        ? current[field]
        : unmask(parseJson(text, field), initial[field], { field, name: current.name })
    if (value !== undefined) body[field] = value
  }
  return body
}

function parseJson(text: string, field: string): unknown {
  const problem = syntaxProblem(text)
  if (problem === undefined) return JSON.parse(text)
  // The field itself says so until it is mended.
  throw new InputError(t('{label} is not JSON. {problem}', { label: labelOf(field), problem }), [])
}

interface SchemaFieldProps {
  name: string
  schema: Schema
  /** The name of the document. */
  documentName: unknown
  /** Its known settings. */
  settings: KnownSettings | undefined
  value: unknown
  /** The typed text, where the field is JSON. */
  text: string | undefined
  required: boolean
  reference: string | undefined
  disabled: boolean
  error: string | undefined
  onValue(value: unknown): void
  onText(text: string): void
}

function SchemaField(props: SchemaFieldProps) {
  const { name, documentName, settings, value, text, required, reference, disabled, error, onValue, onText } =
    props
  const { schema, nullable } = withoutNull(props.schema)
  const common = {
    label: labelOf(name),
    note: schema.description && translated(schema.description.replaceAll('`', '')),
    required,
    disabled,
    error,
  }
  if (schema.enum)
    return (
      <SelectField
        {...common}
        value={String(value ?? '')}
        options={[
          ...(value === undefined ? [{ value: '', name: t('Choose …') }] : []),
          ...schema.enum.map(optionOf),
        ]}
        onChange={onValue}
      />
    )
  if (reference && schema.type === 'array')
    return (
      <References
        {...common}
        from={reference}
        value={(value as number[] | null | undefined) ?? []}
        onValue={onValue}
      />
    )
  if (reference)
    return (
      <Reference
        {...common}
        from={reference}
        value={value as number | null | undefined}
        nullable={nullable || !required}
        onValue={onValue}
      />
    )
  if (schema.type === 'integer' || schema.type === 'number')
    return (
      <TextField
        {...common}
        type="number"
        value={value == null ? '' : String(value)}
        onChange={(typed) => onValue(typed === '' ? undefined : Number(typed))}
      />
    )
  if (schema.type === 'object')
    return (
      <JsonField
        {...common}
        note={[common.note, t('JSON; secrets are shown as {mask} and stay as they are', { mask: MASK })]
          .filter(Boolean)
          .join('. ')}
        known={settings}
        value={text ?? JSON.stringify(mask(value ?? {}, { field: name, name: documentName }), null, 2)}
        onChange={onText}
      />
    )
  const string = String(value ?? '')
  const change = (typed: string) => onValue(typed === '' && nullable ? null : typed)
  if (LONG.has(name)) return <AreaField {...common} value={string} rows={3} onChange={change} />
  if (name === 'spec') return <AreaField {...common} value={string} rows={16} code onChange={change} />
  return <TextField {...common} value={string} onChange={change} />
}

const optionOf = (value: unknown) => ({ value: String(value), name: wordOf(String(value)) })

const LABELS: Readonly<Record<string, string>> = {
  ...{ name: t('Name'), description: t('Description'), extId: t('External id'), config: t('Config') },
  ...{ hook: t('Hook'), callback: t('Callback'), handlerUrl: t('Handler URL'), moduleUrl: t('Module URL') },
  ...{ workflow: t('Workflow'), currentStep: t('Current step'), status: t('Status'), context: t('Context') },
  ...{ instructions: t('Instructions'), submitWhen: t('Submit when'), job: t('Job'), next: t('Next') },
  ...{ backstory: t('Backstory'), actions: t('Actions'), configs: t('Configs'), value: t('Value') },
  ...{ owner: t('Owner'), ownerType: t('Owner type'), spec: t('Spec'), specType: t('Spec type') },
  ...{ role: t('Role'), goal: t('Goal'), defaultWorkflow: t('Default workflow'), text: t('Text') },
  ...{ steps: t('Steps'), firstStep: t('First step') },
}

/** The name of a field in words. */
function labelOf(name: string): string {
  if (LABELS[name]) return LABELS[name]
  const words = name.replaceAll(/([A-Z])/g, ' $1').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}
