import { numbered } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { choicesOf } from '../resources.ts'
import { SelectField } from './fields.tsx'

interface ReferenceProps {
  label: string
  note: string | undefined
  required: boolean
  disabled: boolean
  error: string | undefined
  from: string
  onValue(value: unknown): void
}

/** A document of another resource, chosen by its name. */
export function Reference({
  from,
  value,
  nullable,
  onValue,
  ...common
}: ReferenceProps & { value: number | null | undefined; nullable: boolean }) {
  const choices = useLoad(`choices ${from}`, () => choicesOf(from)).data ?? []
  const known = value == null || choices.some((one) => one.value === value)
  const options = [
    ...(nullable || value == null ? [{ value: '', name: nullable ? t('None') : t('Choose …') }] : []),
    ...(known ? [] : [{ value: String(value), name: numbered(String(value)) }]),
    ...choices.map((one) => ({ value: String(one.value), name: one.name })),
  ]
  return (
    <SelectField
      {...common}
      value={value == null ? '' : String(value)}
      options={options}
      onChange={(chosen) => onValue(chosen === '' ? null : Number(chosen))}
    />
  )
}

/** Documents of another resource, each with a check box. */
export function References({ from, value, onValue, ...common }: ReferenceProps & { value: number[] }) {
  const choices = useLoad(`choices ${from}`, () => choicesOf(from)).data ?? []
  const unknown = value.filter((id) => !choices.some((one) => one.value === id))
  const all = [...choices, ...unknown.map((id) => ({ value: id, name: numbered(id) }))]
  return (
    <fieldset class="field choices" disabled={common.disabled}>
      <legend>
        {common.label}
        {!common.required && <span class="quiet"> {t('(optional)')}</span>}
      </legend>
      {all.length === 0 && <p class="note">{t('There are none yet.')}</p>}
      {all.map((one) => (
        <label key={one.value}>
          <input
            type="checkbox"
            checked={value.includes(one.value)}
            onChange={(event) =>
              onValue(
                event.currentTarget.checked ? [...value, one.value] : value.filter((id) => id !== one.value),
              )
            }
          />
          {one.name}
        </label>
      ))}
      {common.error && <p class="field-error">{common.error}</p>}
    </fieldset>
  )
}
