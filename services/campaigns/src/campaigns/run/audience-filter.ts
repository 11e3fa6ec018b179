import type { mongo } from 'mongoose'
import { segmentQuery } from '../../segments/segment-query.ts'
import type { PersonRecord } from '../../store/person-record.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'

/** The people that a campaign's audience stands for, of those that who started it may read. */
export function audienceFilter({
  definition: { audience },
  segmentFilter,
  peopleRule,
}: Pick<CampaignRecord, 'definition' | 'segmentFilter' | 'peopleRule'>): mongo.Filter<PersonRecord> {
  const asked = filterOf(audience, segmentFilter)
  return peopleRule === undefined ? asked : { $and: [asked, JSON.parse(peopleRule)] }
}

function filterOf(
  audience: CampaignRecord['definition']['audience'],
  segmentFilter: CampaignRecord['segmentFilter'],
): mongo.Filter<PersonRecord> {
  if ('people' in audience) return { _id: { $in: [...audience.people] } }
  if ('filter' in audience) return segmentQuery(audience.filter)
  if ('import' in audience) return segmentQuery({ all: [audience] })
  if ('everybody' in audience) return {}
  // Nobody, rather than everybody.
  return segmentFilter === undefined ? { _id: { $in: [] } } : segmentQuery(segmentFilter)
}
