/** The records of one claim on their way into the log. */
export { BatchWriter as PostgresWriter, type Part } from '../shared/batch-writer.ts'
