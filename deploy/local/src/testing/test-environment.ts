/** Names of environment variables by which a test run passes addresses to its workers. */
export const TEST_DIRECTORY = 'PARLEY_TEST_DIRECTORY'
export const TEST_HOST = 'PARLEY_TEST_HOST'

/** The virtual hosts of the tests' RabbitMQ: one for each test file that asks. */
export const VHOSTS = Array.from({ length: 128 }, (_, index) => `t${index}`)
