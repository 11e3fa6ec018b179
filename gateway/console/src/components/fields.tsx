import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { t } from '../language.ts'

interface FieldProps {
  label: string
  note?: string | undefined
  error?: string | undefined
  required?: boolean
}

/** Attributes that connect a control with its label, its note and its error. */
interface ControlAttributes {
  id: string
  'aria-describedby'?: string
  'aria-invalid'?: 'true'
}

/** A label with its control, what is said about it, and what is wrong with it. */
function Field(props: FieldProps & { children: (attributes: ControlAttributes) => ComponentChildren }) {
  const id = useId()
  const { label, note, error, required, children } = props
  const described = [note && `${id}-note`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id}>
        {label}
        {required === false && <span class="quiet"> {t('(optional)')}</span>}
      </label>
      {children({
        id,
        ...(described ? { 'aria-describedby': described } : {}),
        ...(error ? { 'aria-invalid': 'true' } : {}),
      })}
      {note && (
        <p class="note" id={`${id}-note`}>
          {note}
        </p>
      )}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  )
}

interface TextProps extends FieldProps {
  value: string
  onChange(value: string): void
  type?: 'text' | 'password' | 'email' | 'tel' | 'url' | 'search' | 'datetime-local' | 'number'
  autocomplete?: string
  placeholder?: string
  disabled?: boolean
  /** It has the focus when it appears. */
  isFirst?: boolean
  /** Characters that it has at least. */
  least?: number
  /** The id of a list of suggestions. */
  list?: string
}

export function TextField({
  value,
  onChange,
  type = 'text',
  autocomplete,
  placeholder,
  disabled,
  isFirst = false,
  least,
  list,
  ...rest
}: TextProps) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isFirst) input.current?.focus()
  }, [isFirst])
  return (
    <Field {...rest}>
      {(attributes) => (
        <input
          {...attributes}
          ref={input}
          minLength={least}
          list={list}
          // Preact's types know each type's own role, so a union of types fits none of them.
          type={type as 'text'}
          value={value}
          disabled={disabled}
          required={rest.required === true}
          step={type === 'number' ? 'any' : undefined}
          placeholder={placeholder}
          autocomplete={autocomplete ?? 'off'}
          spellcheck={false}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

/** A password, which is shown on demand. */
export function PasswordField(props: Omit<TextProps, 'type'>) {
  const [isShown, setShown] = useState(false)
  return (
    <div class="password">
      <TextField {...props} type={isShown ? 'text' : 'password'} />
      <button type="button" class="link" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
        {isShown ? t('Hide') : t('Show')}
      </button>
    </div>
  )
}

interface AreaProps extends FieldProps {
  value: string
  onChange(value: string): void
  rows?: number
  code?: boolean
  disabled?: boolean
}

export function AreaField({ value, onChange, rows = 4, code = false, disabled, ...rest }: AreaProps) {
  return (
    <Field {...rest}>
      {(attributes) => (
        <textarea
          {...attributes}
          class={code ? 'code' : undefined}
          rows={rows}
          value={value}
          disabled={disabled}
          spellcheck={!code}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

interface SelectProps extends FieldProps {
  value: string
  onChange(value: string): void
  options: { value: string; name: string }[]
  disabled?: boolean
  code?: boolean
}

export function SelectField({ value, onChange, options, disabled, code = false, ...rest }: SelectProps) {
  return (
    <Field {...rest}>
      {(attributes) => (
        <select
          {...attributes}
          class={code ? 'code' : undefined}
          value={value}
          disabled={disabled}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.name}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
