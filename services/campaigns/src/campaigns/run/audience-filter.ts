import type { Connection, mongo } from 'mongoose'
import type { PersonRecord } from '../../store/person-record.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'

/** The people that a campaign's audience stands for, of those that who started it may read. */
export type AudienceFilter = (
  connection: Connection,
  campaign: Pick<CampaignRecord, 'workspace' | 'definition' | 'peopleRule'>,
) => Promise<mongo.Filter<PersonRecord>>

export const audienceFilter: AudienceFilter = async (_connection, { definition, peopleRule }) => {
  const asked = filterOf(definition.audience)
  return peopleRule === undefined ? asked : { $and: [asked, JSON.parse(peopleRule)] }
}

function filterOf(audience: CampaignRecord['definition']['audience']): mongo.Filter<PersonRecord> {
  if ('people' in audience) return { _id: { $in: [...audience.people] } }
  if ('import' in audience) return { lastImport: audience.import }
  return {}
}
