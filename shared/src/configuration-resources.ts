/** The collections of the configuration service as they stand in paths: `/rest/<name>`. */
export const CONFIGURATION_RESOURCES = [
  'channels',
  'tasks',
  'steps',
  'assistant',
  'configs',
  'actions',
  'jobs',
  'workflows',
] as const
