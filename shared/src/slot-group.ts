/** Says whose slots are too many: the asker's own, or those of all. */
export type Excess = 'own' | 'all'

/** A slot that is taken, or was. */
export interface Slot {
  group: Group
  preempt: (() => void) | undefined
  isTaken: boolean
  since: number
}

/** One who waits for a slot. */
export interface Queued {
  go(): void
  refuse(excess: Excess): void
}

/** The slots and waiting requests of a workspace, an account or a token. */
export class Group {
  readonly name: string | number
  readonly parent: Group | undefined
  readonly level: number
  readonly groups = new Map<string | number, Group>()
  taken = 0
  waiting = 0
  /** When it was given a slot, or began to wait. */
  turn = 0
  /** In the narrowest groups only: those that can be given up, oldest first, and who waits. */
  readonly slots = new Set<Slot>()
  readonly queue = new Set<Queued>()

  constructor(name: string | number = '', parent?: Group) {
    this.name = name
    this.parent = parent
    this.level = parent === undefined ? 0 : parent.level + 1
    parent?.groups.set(name, this)
  }
}

/** From the narrowest group to the root. */
export function pathOf(group: Group): Group[] {
  const path = [group]
  for (let one = group.parent; one !== undefined; one = one.parent) path.push(one)
  return path
}

/** Gives a slot back; false where it was. */
export function leave(slot: Slot): boolean {
  if (!slot.isTaken) return false
  slot.isTaken = false
  slot.group.slots.delete(slot)
  for (const one of pathOf(slot.group)) one.taken--
  forget(slot.group)
  return true
}

/** Removes groups that neither have nor wait for anything. */
export function forget(group: Group): void {
  for (const one of pathOf(group))
    if (one.taken + one.waiting + one.groups.size === 0) one.parent?.groups.delete(one.name)
}

type Counted = 'taken' | 'waiting'

/**
 * Where a group finds no room, the narrowest group of those that have most, if it has at least two more, or one more and
 * something that is due.
 */
export function crowdedFor(
  group: Group,
  { by, isFull, isDue }: { by: Counted; isFull(group: Group): boolean; isDue(most: Group): boolean },
): Group | undefined {
  const path = pathOf(group)
  for (let at = path.findIndex(isFull); at > 0; at--) {
    const [wider, own] = [path[at] as Group, path[at - 1] as Group]
    const more = (mostOf(wider, by)?.[by] ?? 0) - own[by]
    const most = narrowest(wider, by)
    if (more >= 2 || (more === 1 && isDue(most))) return most
  }
  return undefined
}

function narrowest(group: Group, by: Counted): Group {
  const most = mostOf(group, by)
  return most === undefined ? group : narrowest(most, by)
}

function mostOf({ groups }: Group, by: Counted): Group | undefined {
  let most: Group | undefined
  for (const one of groups.values()) if (most === undefined || one[by] > most[by]) most = one
  return most
}
