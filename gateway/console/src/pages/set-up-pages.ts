import { AccountPage } from './account.tsx'
import { AssistantsPage } from './assistants.tsx'
import { ChannelsPage } from './channels.tsx'
import { EventsPage } from './events.tsx'
import { TeamPage } from './team.tsx'

/** Where a workspace is set up: loaded together, when somebody first goes to one of them. */
export const setUpPages = {
  account: AccountPage,
  assistants: AssistantsPage,
  channels: ChannelsPage,
  events: EventsPage,
  team: TeamPage,
}
