import type { AskedPeople } from '../../segments/segment-part.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'

/** The people that a campaign's audience stands for, of those that who started it may read. */
export function audienceOf({
  workspace,
  definition: { audience },
  segmentFilter,
  peopleRule,
}: Pick<CampaignRecord, 'workspace' | 'definition' | 'segmentFilter' | 'peopleRule'>): AskedPeople {
  const rule = peopleRule === undefined ? {} : JSON.parse(peopleRule)
  const asked = { workspace, filter: {}, also: rule }
  if ('people' in audience)
    return { ...asked, also: { $and: [{ _id: { $in: [...audience.people] } }, rule] } }
  if ('filter' in audience) return { ...asked, filter: audience.filter }
  if ('import' in audience) return { ...asked, filter: { all: [audience] } }
  if ('everybody' in audience) return asked
  // Nobody, rather than everybody.
  return segmentFilter === undefined
    ? { ...asked, also: { _id: { $in: [] } } }
    : { ...asked, filter: segmentFilter }
}
