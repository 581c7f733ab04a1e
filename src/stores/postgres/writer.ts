/** Log writer that buffers the records of one lease for the next group commit. */
export { BatchWriter as PostgresWriter, type Part } from '../shared/batch-writer.ts'
