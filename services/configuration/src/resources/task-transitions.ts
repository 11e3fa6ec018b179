import type { TaskStatus } from '@parley/shared/documents/workflow'

/** The origin of a change of a task: a caller through the API, or a submission of its thread. */
export type Actor = 'caller' | 'runtime'

/** The statuses that a caller may set at any time. */
const OPEN = ['active', 'pending', 'failed'] as const

/** Allowed transitions by actor: from a status (`none`: it does not exist yet) to others. There are no others. */
const TRANSITIONS: Readonly<Record<Actor, Readonly<Record<TaskStatus | 'none', readonly TaskStatus[]>>>> = {
  caller: {
    none: OPEN,
    active: OPEN,
    pending: OPEN,
    failed: OPEN,
    completed: [...OPEN, 'completed'],
    cancelled: [...OPEN, 'cancelled'],
  },
  runtime: {
    none: ['active', 'completed'],
    active: ['active', 'completed', 'cancelled'],
    pending: [],
    failed: [],
    completed: [],
    cancelled: [],
  },
}

interface Transition {
  by: Actor
  /** Undefined where the task is not there yet. */
  from: TaskStatus | undefined
  to: TaskStatus
}

/** True if the table has this transition; staying in a status is one too. */
export function isTransition({ by, from, to }: Transition): boolean {
  return TRANSITIONS[by][from ?? 'none'].includes(to)
}

/** Where the table lets `by` go from a status. */
export function reachable(by: Actor, from: TaskStatus | undefined): readonly TaskStatus[] {
  return TRANSITIONS[by][from ?? 'none']
}
