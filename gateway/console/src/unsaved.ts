import { createStore } from './store.ts'

/** Forms with something in them that nobody has saved. */
const typedIn = new Set<HTMLFormElement>()

/** The question whether to leave them, while it is open. */
export const leaveQuestion = createStore<{ answer(isLeaving: boolean): void } | undefined>(undefined)

/** Notes what is typed into forms, and lets the browser ask before the page goes. A form with `data-passing` loses nothing of worth. */
export function followTyping(): void {
  document.addEventListener('input', ({ target }) => {
    const form = target instanceof Element ? target.closest('form') : null
    if (form !== null && !('passing' in form.dataset)) typedIn.add(form)
  })
  addEventListener('beforeunload', (event) => {
    if (isUnsaved()) event.preventDefault()
  })
}

/** True if typed values in an element, or anywhere, would be lost. */
export function isUnsaved(element: Node = document.body): boolean {
  for (const form of typedIn) if (!form.isConnected) typedIn.delete(form)
  return [...typedIn].some((form) => element.contains(form))
}

/** Resolves to true if nothing is lost by leaving an element, or the page; else the user is asked. */
export async function mayLeave(element: Node = document.body): Promise<boolean> {
  if (!isUnsaved(element)) return true
  leaveQuestion.get()?.answer(false)
  const isLeaving = await new Promise<boolean>((answer) => leaveQuestion.set({ answer }))
  leaveQuestion.set(undefined)
  if (isLeaving) for (const form of [...typedIn]) if (element.contains(form)) typedIn.delete(form)
  return isLeaving
}

/** Marks the present values of the form as saved; `again` undoes that. */
export function markSaved(form: HTMLFormElement | null): { again(): void } {
  const wasTyped = form !== null && typedIn.delete(form)
  return { again: () => void (wasTyped && typedIn.add(form)) }
}
