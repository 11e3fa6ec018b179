import { useEffect } from 'preact/hooks'
import { listAll } from './api.ts'
import { useLoad } from './load.ts'
import { may, me } from './rights.ts'
import { createStore, useStore } from './store.ts'
import type { Team, Thread } from './threads.ts'

/** Those that the caller may read; none until they are known. */
export const teams = createStore<readonly Team[]>([])
const changes = createStore(0)

/** Has the teams loaded again, after one was changed. */
export const teamsChanged = (): void => changes.set(changes.get() + 1)

/** Loads the teams for all pages, and again every minute: who has left one is told of nothing of it any more. */
export function useFollowedTeams(): void {
  const isReader = may('read', 'teams') && may('read', 'threads')
  const { data } = useLoad(
    `teams ${isReader} ${useStore(changes)}`,
    async () => (isReader ? listAll<Team>('/rest/teams') : []),
    { everyMs: 60_000, isInBackground: true },
  )
  useEffect(() => {
    if (data !== undefined) teams.set(data)
  }, [data])
  useEffect(() => () => teams.set([]), [])
}

export const isOwnTeam = ({ members }: Team): boolean => members.includes(me.get()?._id ?? 0)

/** The parameter of the list for what is assigned to a team of the caller's own; of nobody's where there is none. */
export const ownTeamIds = (): string =>
  teams
    .get()
    .filter(isOwnTeam)
    .map(({ _id }) => _id)
    .join() || '0'

/** Returns the present name of a team; of a team that is gone, its last one. */
export const teamNameOf = ({ _id, name }: NonNullable<Thread['team']>): string =>
  teams.get().find((one) => one._id === _id)?.name ?? name
