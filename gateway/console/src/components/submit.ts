import { useRef, useState } from 'preact/hooks'
import { markSaved } from '../unsaved.ts'

interface Submit {
  busy: boolean
  /** Why it failed the last time. */
  error: Error | undefined
  submit(event: Event): Promise<void>
  /** Discards the typed values. */
  dismiss(): void
}

/** Runs the action of a form when it is submitted, one run at a time: a submit during a run is ignored. */
export function useSubmit(action: () => unknown): Submit {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  // The second click of two may come before the button is disabled.
  const isRunning = useRef(false)
  const form = useRef<HTMLFormElement | null>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isRunning.current) return
    isRunning.current = true
    setBusy(true)
    setError(undefined)
    form.current = (event.currentTarget as Element).closest('form')
    const saved = markSaved(form.current)
    try {
      await action()
    } catch (thrown) {
      saved.again()
      setError(thrown as Error)
    }
    isRunning.current = false
    setBusy(false)
  }
  const dismiss = () => {
    markSaved(form.current)
    setError(undefined)
  }
  return { busy, error, submit, dismiss }
}

interface SendKey {
  /** Of something that is to be sent. */
  keyOf(content: unknown): string
  /** It has gone: the next one is another, whatever it says. */
  gone(): void
}

/** An `Idempotency-Key` that is the same as long as what is to be sent is, so that a repeat is the same send. */
export function useSendKey(): SendKey {
  const last = useRef<{ content: string; key: string }>(undefined)
  return {
    keyOf(sent) {
      const content = JSON.stringify(sent)
      if (last.current?.content !== content) last.current = { content, key: crypto.randomUUID() }
      return last.current.key
    },
    gone() {
      last.current = undefined
    },
  }
}
