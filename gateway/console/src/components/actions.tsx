import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../language.ts'
import { messageOf } from '../problems.ts'
import { createStore, useStore } from '../store.ts'
import { leaveQuestion, mayLeave } from '../unsaved.ts'
import { Failure } from './basics.tsx'

type Kind = 'primary' | 'plain' | 'danger'

interface ButtonProps {
  children: ComponentChildren
  kind?: Kind
  small?: boolean
  type?: 'button' | 'submit'
  disabled?: boolean
  label?: string
  onClick?: () => unknown
}

/** While what it started runs, it can't be pressed again; an error is shown as a notice. */
export function Button({
  children,
  kind = 'plain',
  small,
  type = 'button',
  disabled,
  label,
  onClick,
}: ButtonProps) {
  const [busy, setBusy] = useState(false)
  const press = async () => {
    setBusy(true)
    try {
      await onClick?.()
    } catch (error) {
      notify(messageOf(error as Error), 'bad')
    } finally {
      setBusy(false)
    }
  }
  return (
    <button
      type={type}
      class={`button ${kind}${small ? ' small' : ''}`}
      disabled={disabled || busy}
      aria-busy={busy}
      aria-label={label}
      onClick={onClick && press}
    >
      {children}
    </button>
  )
}

/** The end of a form: why it failed the last time, and what submits it. */
export const FormEnd = (props: { action: string; busy: boolean; error: Error | undefined }) => (
  <>
    <Failure error={props.error} />
    <div class="actions end">
      <Button type="submit" kind="primary" disabled={props.busy}>
        {props.action}
      </Button>
    </div>
  </>
)

export const LinkButton = ({
  href,
  kind = 'plain',
  children,
}: {
  href: string
  kind?: Kind
  children: string
}) => (
  <a class={`button ${kind}`} href={href}>
    {children}
  </a>
)

interface Notice {
  text: string
  tone: 'good' | 'bad'
  undo?: (() => Promise<unknown>) | undefined
}

const NOTICE_MS = 6_000
const UNDO_MS = 20_000
const notice = createStore<Notice | undefined>(undefined)

/** Says for six seconds what was done, to screen readers too. */
export function notify(text: string, tone: Notice['tone'] = 'good'): void {
  show({ text, tone }, NOTICE_MS)
}

/** The same for 20 s, in which it can be undone. */
export function notifyUndoable(text: string, undo: () => Promise<unknown>): void {
  show({ text, tone: 'good', undo }, UNDO_MS)
}

function show(own: Notice, ms: number): void {
  notice.set(own)
  setTimeout(() => notice.get() === own && notice.set(undefined), ms)
}

export function Notices() {
  const current = useStore(notice)
  return (
    <div class="notices" role="status" aria-live="polite">
      {current && (
        <p class={`notice ${current.tone}`}>
          {current.text}{' '}
          {current.undo && (
            <Button small onClick={current.undo}>
              {t('Undo')}
            </Button>
          )}
        </p>
      )}
    </div>
  )
}

/** A modal dialog; Escape closes it, after a question where something was typed into it. */
export function Dialog(props: {
  title: string
  onClose(): void
  children: ComponentChildren
  wide?: boolean
}) {
  const { title, onClose, children, wide } = props
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  const close = async () => {
    if (await mayLeave(element.current ?? undefined)) onClose()
  }
  const cancel = (event: Event) => {
    event.preventDefault()
    void close()
  }
  return (
    <dialog ref={element} class={wide ? 'dialog wide' : 'dialog'} aria-label={title} onCancel={cancel}>
      <div class="dialog-head">
        <h2>{title}</h2>
        <Button small label={t('Close')} onClick={close}>
          ✕
        </Button>
      </div>
      {children}
    </dialog>
  )
}

/** Asks before something that can't be undone. */
function Confirm(props: {
  title: string
  children: ComponentChildren
  action: string
  dismiss: string
  onConfirm(): Promise<unknown>
  onClose(): void
}) {
  const [error, setError] = useState<Error>()
  const confirm = async () => {
    try {
      await props.onConfirm()
      props.onClose()
    } catch (thrown) {
      setError(thrown as Error)
    }
  }
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <p>{props.children}</p>
      <Failure error={error} />
      <div class="actions end">
        <Button onClick={props.onClose}>{props.dismiss}</Button>
        <Button kind="danger" onClick={confirm}>
          {props.action}
        </Button>
      </div>
    </Dialog>
  )
}

/** Asks whether to leave what was typed and not saved. */
export function LeaveQuestion() {
  const asked = useStore(leaveQuestion)
  if (asked === undefined) return null
  const stay = () => asked.answer(false)
  return (
    <Dialog title={t('Leave without saving?')} onClose={stay}>
      <p>{t('What you typed here is not saved, and is lost then.')}</p>
      <div class="actions end">
        <Button onClick={stay}>{t('Stay')}</Button>
        <Button kind="danger" onClick={() => asked.answer(true)}>
          {t('Leave')}
        </Button>
      </div>
    </Dialog>
  )
}

/** A button that deletes after a question. */
export function DeleteButton(props: {
  what: string
  onDelete(): Promise<unknown>
  /** The loss that it causes; where this is left out, the dialog says that it can't be undone. */
  note?: string
  /** The label of the action where it is another word. */
  action?: string
  /** The label of the button that changes nothing. */
  dismiss?: string
}) {
  const {
    what,
    onDelete,
    note = t('This can’t be undone.'),
    action = t('Delete'),
    dismiss = t('Cancel'),
  } = props
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button kind="danger" small label={`${action} ${what}`} onClick={() => setOpen(true)}>
        {action}
      </Button>
      {open && (
        <Confirm
          title={t('{action} {what}?', { action, what })}
          action={action}
          dismiss={dismiss}
          onConfirm={onDelete}
          onClose={() => setOpen(false)}
        >
          {note}
        </Confirm>
      )}
    </>
  )
}

/** A text to be pasted elsewhere, with a button that puts it on the clipboard. */
export function Paste({ value, label }: { value: string; label: string }) {
  const put = async () => {
    await navigator.clipboard.writeText(value)
    notify(t('{label} is on the clipboard.', { label }))
  }
  return (
    <span class="paste">
      <code>{value}</code>
      <Button small label={t('Copy {label}', { label })} onClick={put}>
        {t('Copy')}
      </Button>
    </span>
  )
}

/** A secret that is shown on demand. */
export function Secret({ value, label }: { value: string; label: string }) {
  const [shown, setShown] = useState(false)
  return (
    <span class="paste">
      {shown ? <Paste value={value} label={label} /> : <code aria-hidden="true">••••••••••••</code>}
      <Button small label={`${shown ? t('Hide') : t('Show')} ${label}`} onClick={() => setShown(!shown)}>
        {shown ? t('Hide') : t('Show')}
      </Button>
    </span>
  )
}
